"""Why plain exact-prefix merging breaks at a call that goes on from an earlier one: what differs, by name."""
import json
import re


def spelt_alike(value):
    """Numbers that are equal look alike."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [spelt_alike(each) for each in value]
    if isinstance(value, dict):
        return {key: spelt_alike(each) for key, each in value.items()}
    return value


def without_blanks(text):
    return re.sub(r"\s+", "", text)


def with_json_alike(text):
    """Every JSON object in one spelling, blanks left out."""
    result, position, decoder = "", 0, json.JSONDecoder()
    while (begin := text.find("{", position)) >= 0:
        result += text[position:begin]
        try:
            value, position = decoder.raw_decode(text, begin)
            result += json.dumps(spelt_alike(value), sort_keys=True)
        except ValueError:
            result, position = result + "{", begin + 1
    return without_blanks(result + text[position:])


def without_reasoning(text):
    return with_json_alike(re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL))


# In this order: the first under which the prompt begins as the open row's text does names the difference.
VIEWS = [("other tokens of the same text", str), ("blanks", without_blanks),
         ("arguments written anew", with_json_alike), ("reasoning left out", without_reasoning)]


def cause_of(open_text, prompt_text, earlier_texts):
    """open_text: of the open row; earlier_texts: of what ended before, which the prompt may go on from."""
    for name, view in VIEWS:
        if view(prompt_text).startswith(view(open_text)):
            return name
    if any(without_reasoning(prompt_text).startswith(without_reasoning(text)) for text in earlier_texts):
        return "another conversation between"
    return "another reply or prompt"
