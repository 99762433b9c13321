"""transformers' generate as a worker of the benchmark.

usage: peer_transformers.py MODEL_FOLDER float32|bfloat16 THREADS
"""
import sys

import peer
import torch
import transformers


class Worker:
    def __init__(self, folder, dtype, threads):
        torch.set_num_threads(threads)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
        # Greedy, and no end token: every reply is as long as is asked for.
        self.model.generation_config = transformers.GenerationConfig(do_sample=False, eos_token_id=None, pad_token_id=0)
        self.cache = self.ids = None

    def generate(self, ids, count, cache=None):
        with torch.inference_mode():
            return self.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=count,
                                       past_key_values=cache)

    def prefill(self, ids):
        self.generate(torch.tensor([ids]), 1)

    def start(self, prompts):
        """One prompt is computed; the others' caches are copies of its cache, to spare the time: as many numbers
        are read afterwards as if they had been different."""
        self.cache = transformers.DynamicCache()
        ids = self.generate(torch.tensor(prompts[:1]), 1, self.cache)
        self.cache.batch_repeat_interleave(len(prompts))
        self.ids = ids.repeat(len(prompts), 1)

    def decode(self, steps):
        self.ids = self.generate(self.ids, steps, self.cache)

    def stop(self):
        self.cache = self.ids = None


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    peer.serve(Worker(sys.argv[1], sys.argv[2], int(sys.argv[3])))
