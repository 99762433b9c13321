"""Writes tokenizer.json beside this file: a token for each byte, and the markers of the template.

Run once with the `tokenizers` package; the result is committed.
"""

import pathlib

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

MARKERS = ["<|im_start|>", "<|im_end|>"]                      # control tokens
TAGS = ["<tool_call>", "</tool_call>", "<think>", "</think>"]  # ordinary text, one token each


def main():
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in MARKERS])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in TAGS])
    tokenizer.save(str(pathlib.Path(__file__).with_name("tokenizer.json")), pretty=False)


if __name__ == "__main__":
    main()
