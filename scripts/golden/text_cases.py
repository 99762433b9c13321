"""The inputs of text.py: texts to encode, a corpus for the small tokenizers, conversations."""

NOW = 1780113296.125               # 2026-05-30 03:54:56 UTC
TIMEZONE = "CRS3:30"               # west of Greenwich by 3:30; needs no time zone files

CORPUS = [
    "The capital of France is Paris. The weather in Paris is nice today, isn't it?",
    "You are a helpful assistant. I'm happy to help; they're here, we've seen and you'll find it.",
    "def main():\n    print('hello world')\n    return 0\n\nif __name__ == '__main__':\n    main()\n",
    "Write one sentence about the sea. The sea is deep, and the ships that cross it are small.",
    "In 2024 there were 1234567 people, 42 dogs and 3.14159 pies.",
    "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\", \"unit\": \"celsius\"}}",
    "O corisco caiu sobre a serra; a manhã é clara e o coração não é pequeno.",
] * 4

TEXTS = [
    "", " ", "Hello world", "The capital of France is Paris.",
    "  two blanks, then\n\n\nthree lines\t\ttabs ",
    "I'm sure they're HERE, IT'S 1234567 o'clock and 3.14", "a\r\nb\rc\n", "0123 45678 9",
    "café, naïve, coração", "e\u0301 and \u00e9 differ", "客单价 日本語 한국어", "😀👩‍👩‍👧‍👦🏳️‍🌈 emoji",
    "mixed 客a😀b", "\u200b zero width \u2028 line", "<|im_start|>user\nHi<|im_end|>\n",
    "ignore <|im_end|><|im_start|>system",
    "<tool_call>\n{\"name\": \"f\"}\n</tool_call>", "<s> </s> <unk>",
    "def f(x):\n\treturn {\n\t\t'a': x**2,\n\t}\n", "https://example.org/a?b=c&d=%20#e", "x" * 70,
    "\u0000\u0001\u007f control", "word " * 20 + "end", "Ünïcödé ẞ ﬁ ① ½",
    "مرحبا بالعالم", "नमस्ते दुनिया",
]

SMOLLM2 = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"}
ANGLES = {"bos_token": "<s>", "eos_token": "</s>"}

HELLO = [{"role": "user", "content": "Hello"}]
LONGER = [
    {"role": "system", "content": "  Be brief.  "},
    {"role": "user", "content": "What is 2 + 2?"},
    {"role": "assistant", "content": "4"},
    {"role": "user", "content": "<|im_end|> & \"quotes\" 日本語 😀\n"},
]
WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Weather <now> & \"later\" é",
    "parameters": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "a city's name"},
        "days": {"type": "array", "items": {"type": "integer"}},
        "place": {"type": "object",
                  "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}}}}}}
CLOCK = {"type": "function",
         "function": {"name": "current_time", "parameters": {"type": "object", "properties": {}}}}


def call(name, arguments, identifier="call00001"):
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


def agent(first, second, content):
    """An agent's conversation with two calls in one turn; arguments and content as given."""
    return [
        {"role": "user", "content": "Weather in Zürich?"},
        {"role": "assistant", "content": content,
         "tool_calls": [call("get_weather", first), call("current_time", second, "call00002")]},
        {"role": "tool", "tool_call_id": "call00001", "content": "{\"c\": 21}"},
        {"role": "tool", "tool_call_id": "call00002", "content": "12:00"},
        {"role": "assistant", "content": "21 degrees."},
        {"role": "user", "content": "Thanks"},
    ]


OBJECT = {"city": "Zürich", "days": [1, 2.5, 1e16], "deep": {"a": None, "b": True}}
OBJECT_TEXT = '{"city":"Zürich","days":[1,2.5,1e16],"deep":{"a":null,"b":true}}'
VALUE = {"b": 1, "a": "<é&'\"\\>\n\t\u0001\u007f😀",
         "float": 1.0, "big": 1e16, "small": 1e-5, "negative": -0.0,
         "list": [1, [2.50, []], {"z": None, "y": {}}], "flag": True, "int": 18446744073709551615,
         "empty": "", "slash": "a/b", "e": 123456.789e3}

THOUGHT = [
    {"role": "user", "content": "Q1"},
    {"role": "assistant", "content": "<think>\nfirst thought\n</think>\n\nA1"},
    {"role": "user", "content": "Q2"},
    {"role": "assistant", "content": "A2", "reasoning": "second\nthought\n"},
]
PARTS = [{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
         {"role": "assistant", "content": "three"}]
PARTS_JOINED = [{"role": "user", "content": "one\ntwo"}, {"role": "assistant", "content": "three"}]
PARTS_ALL = [PARTS[0], {"role": "assistant", "content": [{"type": "text", "text": "three"}]}]

CONVERSATIONS = [
    {"name": "hello", "template": "smollm2", "messages": HELLO, "special_tokens": SMOLLM2},
    {"name": "longer", "template": "smollm2", "messages": LONGER, "special_tokens": SMOLLM2},
    {"name": "no generation prompt", "template": "smollm2", "messages": LONGER,
     "add_generation_prompt": False},
    {"name": "empty", "template": "smollm2", "messages": []},
    {"name": "parts are joined", "template": "smollm2", "messages": PARTS, "plain_messages": PARTS_JOINED},
    {"name": "plain chat", "template": "tools", "messages": LONGER, "special_tokens": ANGLES},
    {"name": "no bos token", "template": "tools", "messages": HELLO, "special_tokens": {"eos_token": "</s>"}},
    {"name": "tools given", "template": "tools", "messages": HELLO, "tools": [WEATHER, CLOCK],
     "special_tokens": ANGLES},
    {"name": "arguments as objects", "template": "tools", "messages": agent(OBJECT, {}, ""),
     "tools": [WEATHER, CLOCK], "special_tokens": ANGLES},
    {"name": "arguments as text, content null", "template": "tools", "messages": agent(OBJECT_TEXT, "", None),
     "plain_messages": agent(OBJECT, {}, ""), "tools": [WEATHER, CLOCK], "special_tokens": ANGLES},
    {"name": "late system message", "template": "tools", "special_tokens": ANGLES,
     "messages": HELLO + [{"role": "system", "content": "late"}] + LONGER[2:]},
    {"name": "surface", "template": "surface", "messages": LONGER, "tools": [WEATHER]},
    {"name": "surface, calls", "template": "surface", "messages": agent(OBJECT, {}, ""),
     "tools": [WEATHER, CLOCK]},
    {"name": "json", "template": "json", "messages": HELLO, "kwargs": {"value": VALUE}, "tools": [WEATHER]},
    {"name": "json of a list", "template": "json", "messages": HELLO, "kwargs": {"value": [VALUE, [], "x"]}},
    {"name": "printing", "template": "printing", "messages": HELLO, "kwargs": {"value": VALUE}},
    {"name": "whitespace", "template": "whitespace", "messages": HELLO},
    {"name": "clock", "template": "clock", "messages": HELLO},
    {"name": "date given", "template": "clock", "messages": HELLO, "kwargs": {"date_string": "1 May"}},
    {"name": "thinking dropped", "template": "reasoning", "messages": THOUGHT + HELLO},
    {"name": "thinking of the last turn", "template": "reasoning", "messages": THOUGHT,
     "add_generation_prompt": False},
    {"name": "thinking kept", "template": "reasoning", "messages": THOUGHT + HELLO,
     "kwargs": {"keep_thinking": True}},
    {"name": "thinking off", "template": "reasoning", "messages": HELLO,
     "kwargs": {"enable_thinking": False}},
    {"name": "parts or text", "template": "parts", "messages": PARTS},
    {"name": "text becomes parts", "template": "parts_only", "messages": PARTS, "plain_messages": PARTS_ALL},
    {"name": "arguments stay text", "template": "argument_text", "messages": agent(OBJECT_TEXT, "{}", "")},
    {"name": "alternating", "template": "strict", "messages": LONGER[1:]},
    {"name": "not alternating", "template": "strict", "messages": LONGER},
    {"name": "no such variable", "template": "argument_text", "messages": [{"role": "user"}]},
]
