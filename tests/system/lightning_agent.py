"""An agent as one writes it for Agent Lightning: three environment variables, one call, one reward."""
import json
import os
import urllib.request

import openai


class Agent:
    def run(self):
        key = os.environ["AGL_KEY"] or "EMPTY"
        client = openai.OpenAI(base_url=os.environ["AGL_OPENAI_BASE_URL"], api_key=key, max_retries=0)
        client.chat.completions.create(model="any", messages=[{"role": "user", "content": os.environ["TOPIC"]}])
        event = {"event_type": "reward", "data": {"value": float(os.environ["TOPIC"].split()[-1]) % 2}}
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        request = urllib.request.Request(os.environ["AGL_EVENT_URL"], json.dumps(event).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as reply:
            assert json.load(reply)["event_type"] == "reward"
