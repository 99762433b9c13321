"""Why plain exact-prefix merging breaks at a call that goes on from an earlier one: what differs, by name."""
import json
import re

PARAMETER = re.compile(r"<parameter=([^>]*)>\n(.*?)\n</parameter>", re.DOTALL)

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


def with_calls_alike(text):
    """Calls in one spelling, every JSON object and XML, blanks left out."""
    result, position, decoder = "", 0, json.JSONDecoder()
    while (begin := text.find("{", position)) >= 0:
        result += text[position:begin]
        try:
            value, position = decoder.raw_decode(text, begin)
            result += json.dumps(spelt_alike(value), sort_keys=True)
        except ValueError:
            result, position = result + "{", begin + 1
    return without_blanks(with_xml_alike(result + text[position:]))


def with_xml_alike(text):
    """The parameters of each XML call in one order and spelling."""
    def parameter(match):
        try:
            value = json.dumps(spelt_alike(json.loads(match[2])))
        except ValueError:
            value = match[2]
        return f"<parameter={match[1]}>{value}</parameter>"

    def call(match):
        return match[1] + "".join(sorted(parameter(each) for each in PARAMETER.finditer(match[2]))) + "</function>"
    return re.sub(r"(<function=[^>]*>)(.*?)</function>", call, text, flags=re.DOTALL)


def without_reasoning(text):
    return with_calls_alike(re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL))


# In this order: the first under which the prompt begins as the open row's text does names the difference.
VIEWS = [("other tokens of the same text", str), ("blanks", without_blanks),
         ("arguments written anew", with_calls_alike), ("an empty thinking wrapper left out", without_reasoning)]


def cause_of(open_text, prompt_text, earlier_texts):
    """open_text: of the open row; earlier_texts: of what ended before, which the prompt may go on from."""
    for name, view in VIEWS:
        if view(prompt_text).startswith(view(open_text)):
            return name
    if any(without_reasoning(prompt_text).startswith(without_reasoning(text)) for text in earlier_texts):
        return "another conversation between"
    return "another reply or prompt"
