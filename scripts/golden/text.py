"""Writes tests/text/golden: what transformers and tokenizers make of texts and conversations.

Needs transformers, tokenizers and gguf. Trains the small tokenizers of golden/tiny, and reads the
real SmolLM2 tokenizer and chat template from a GGUF file:

    python scripts/golden/text.py path/to/SmolLM2-135M-Instruct.gguf
"""
import datetime
import json
import os
import pathlib
import sys
import time

from gguf import GGUFReader
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, trainers)
from transformers.utils import chat_template_utils

from text_cases import CONVERSATIONS, CORPUS, NOW, TEXTS, TIMEZONE

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "text" / "golden"
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def byte_level(splitter):
    """The pre-tokenizer of a family, as its tokenizer.json has it."""
    if splitter == "gpt2":
        return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if splitter == "smollm2":
        return pre_tokenizers.Sequence([
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    pattern = LLAMA3 if splitter == "llama3" else QWEN2
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def train_byte_level(family):
    tokenizer = Tokenizer(models.BPE(ignore_merges=family == "llama3"))
    tokenizer.pre_tokenizer = byte_level(family)
    tokenizer.decoder = decoders.ByteLevel()
    if family == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    trainer = trainers.BpeTrainer(vocab_size=520, special_tokens=SPECIAL, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False)])
    return tokenizer


def train_sentencepiece():
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    learner = Tokenizer(models.BPE())
    learner.normalizer = normalizer
    learner.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=150, special_tokens=[], show_progress=False, limit_alphabet=60))
    learned = json.loads(learner.to_str())["model"]
    names = ["<unk>", "<s>", "</s>"] + byte_tokens
    names += [name for name, _ in sorted(learned["vocab"].items(), key=lambda item: item[1])]
    vocabulary = {name: index for index, name in enumerate(names)}
    merges = [tuple(merge) for merge in learned["merges"]]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True,
                                     byte_fallback=True))
    tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
        decoders.Strip(content=" ", left=1, right=0)])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


def smollm2(reader):
    field = lambda name: reader.fields["tokenizer." + name].contents()
    names, kinds = field("ggml.tokens"), field("ggml.token_type")
    merges = [tuple(merge.split(" ")) for merge in field("ggml.merges")]
    tokenizer = Tokenizer(models.BPE({name: index for index, name in enumerate(names)}, merges))
    tokenizer.pre_tokenizer = byte_level("smollm2")
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([name for name, kind in zip(names, kinds) if kind == 3])
    return tokenizer, field("chat_template")


def token_cases(tokenizer):
    cases = []
    for text in TEXTS:
        for with_special in (True, False):
            tokenizer.encode_special_tokens = not with_special
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            cases.append({"text": text, "with_special": with_special, "ids": ids,
                          "kept": tokenizer.decode(ids, skip_special_tokens=False),
                          "skipped": tokenizer.decode(ids, skip_special_tokens=True)})
    return cases


class FrozenDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(NOW, tz)


def render(case, source):
    """A case's messages may name the form in which transformers gets them ("plain_messages")."""
    messages = chat_template_utils._normalize_chat_messages(case.get("plain_messages", case["messages"]))
    try:
        texts, _ = chat_template_utils.render_jinja_template(
            [messages], tools=case.get("tools"), chat_template=source,
            add_generation_prompt=case.get("add_generation_prompt", True),
            **case.get("special_tokens", {}), **case.get("kwargs", {}))
        return {"text": texts[0]}
    except Exception as error:
        return {"error": str(error)}


def write(path, value, indent=1):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=indent) + "\n", encoding="utf-8")


def main():
    os.environ["TZ"] = TIMEZONE
    time.tzset()
    chat_template_utils.datetime = FrozenDatetime
    real, real_template = smollm2(GGUFReader(sys.argv[1]))
    (GOLDEN / "templates" / "smollm2.jinja").write_text(real_template, encoding="utf-8")
    for family in ("gpt2", "smollm2", "llama3", "qwen2", "sentencepiece"):
        tokenizer = train_sentencepiece() if family == "sentencepiece" else train_byte_level(family)
        folder = GOLDEN / "tiny" / family
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
        write(folder / "cases.json", token_cases(tokenizer), indent=None)
    write(GOLDEN / "smollm2_cases.json", token_cases(real), indent=None)
    rendered = []
    for case in CONVERSATIONS:
        source = (GOLDEN / "templates" / (case["template"] + ".jinja")).read_text(encoding="utf-8")
        rendered.append({**case, "expected": render(case, source)})
    write(GOLDEN / "conversations.json", {"now_unix_seconds": NOW, "timezone": TIMEZONE, "cases": rendered})


if __name__ == "__main__":
    main()
