// A reply of each family that comes back through a template of its form goes on with the ids that were sampled.
// The templates are short ones of our own; they write calls and reasoning as the families' templates do.
#include <gtest/gtest.h>

#include "gateway/conversation_lab.h"
#include "text/golden_files.h"

namespace corisco::gateway::fakes {
namespace {
const std::string kFrame =
    "{%- for m in messages %}{%- if m.role == 'assistant' %}{{- '<|start|>assistant\\n' }}"
    "{%- if m.reasoning_content %}{{- OPEN + m.reasoning_content + CLOSE }}{%- endif %}{{- m.content or '' }}CALLS"
    "{{- '<|end|>\\n' }}{%- else %}{{- '<|start|>' + m.role + '\\n' + m.content + '<|end|>\\n' }}{%- endif %}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|start|>assistant\\n' }}{%- endif %}";
const std::string kDsml =
    "{%- if m.tool_calls %}{{- '\\n\\n<｜DSML｜function_calls>\\n' }}{%- for c in m.tool_calls %}"
    "{{- '<｜DSML｜invoke name=\"' + c.function.name + '\">\\n' }}{%- for k, v in c.function.arguments.items() %}"
    "{{- '<｜DSML｜parameter name=\"' + k + '\" string=\"' + ('true' if v is string else 'false') + '\">' }}"
    "{{- v if v is string else v | tojson }}{{- '</｜DSML｜parameter>\\n' }}{%- endfor %}{{- '</｜DSML｜invoke>\\n' }}"
    "{%- endfor %}{{- '</｜DSML｜function_calls>' }}{%- endif %}";
const std::string kKimi =
    "{%- if m.tool_calls %}{{- '<|tool_calls_section_begin|>' }}{%- for c in m.tool_calls %}"
    "{{- '<|tool_call_begin|>' + c.id + '<|tool_call_argument_begin|>' }}{{- c.function.arguments | tojson }}"
    "{{- '<|tool_call_end|>' }}{%- endfor %}{{- '<|tool_calls_section_end|>' }}{%- endif %}";
const std::string kGemma =
    "{%- for c in m.tool_calls or [] %}{{- '<|tool_call>call:' + c.function.name + '{' }}"
    "{%- for k, v in c.function.arguments | dictsort %}{{- ('' if loop.first else ',') + k + ':' }}"
    "{{- '<|\"|>' + v + '<|\"|>' if v is string else v }}{%- endfor %}{{- '}<tool_call|>' }}{%- endfor %}";
// What gpt-oss' does: reasoning only of calls, and another end of what is history.
const std::string kHarmony =
    "{%- for m in messages %}{%- if m.role == 'assistant' and m.tool_calls %}{%- if m.reasoning_content %}"
    "{{- '<|start|>assistant<|channel|>analysis<|message|>' + m.reasoning_content + '<|end|>' }}{%- endif %}"
    "{{- '<|start|>assistant to=functions.' + m.tool_calls[0].function.name }}"
    "{{- '<|channel|>commentary json<|message|>' }}"
    "{{- m.tool_calls[0].function.arguments | tojson }}{{- '<|call|>' }}{%- elif m.role == 'assistant' %}"
    "{{- '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|end|>' }}{%- else %}"
    "{{- '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|start|>assistant' }}{%- endif %}";

std::string framed(const std::string& calls, const std::string& open = "'<think>'",
                   const std::string& close = "'</think>'") {
  auto text = kFrame;
  const auto put = [&text](const std::string& name, const std::string& value) {
    text.replace(text.find(name), name.size(), value);
  };
  put("OPEN", open);
  put("CLOSE", close);
  put("CALLS", calls);
  return text;
}

std::shared_ptr<const text::ChatTemplate> loaded(const std::string& jinja) {
  text::testing::ModelFolder folder;
  folder.with("chat_template.jinja", jinja).with("tokenizer_config.json", "{}");
  auto made = text::ChatTemplate::load(folder.path());
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
  return made.ok() ? made.value() : nullptr;
}

struct Family {
  const char* name;
  ReplySyntax syntax;
  std::string jinja;
  std::string sampled;                   // "Hm", "Let me look.", ls of {"path": "ä", "n": 1}
  const char* end = "<|end|>";
};
std::vector<Family> families() {
  return {
      {"deepseek_v32", {"deepseek_v32", true}, framed(kDsml),
       "<think>Hm</think>Let me look.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"ls\">\n"
       "<｜DSML｜parameter name=\"n\" string=\"false\"> 1.0</｜DSML｜parameter>\n"
       "<｜DSML｜parameter name=\"path\" string=\"true\">ä</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
      {"kimi_k2", {"kimi_k2", true}, framed(kKimi),
       "<think>Hm</think>Let me look.<|tool_calls_section_begin|><|tool_call_begin|>functions.ls:0"
       "<|tool_call_argument_begin|>{\"path\":\"\\u00e4\",\"n\":1}<|tool_call_end|><|tool_calls_section_end|>"},
      {"gemma", {"gemma", true, "gemma"}, framed(kGemma, "'<|channel>thought\\n'", "'\\n<channel|>'"),
       "<|channel>thought\nHm\n<channel|>Let me look.<|tool_call>call:ls{path:<|\"|>ä<|\"|>, n:1}<tool_call|>"},
      {"openai", {"openai", true, "openai"}, kHarmony,
       "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary to=functions.ls "
       "<|constrain|>json<|message|>{\"path\":\"ä\",\"n\":1}", "<|call|>"},
  };
}

struct FamilyLab : Lab {
  explicit FamilyLab(const Family& family) {
    syntax = family.syntax;
    jinja = loaded(family.jinja);
    if (!syntax.has_channels()) return;
    end_texts = {"<|call|>", "<|return|>", "<|end|>"};
    turn_goes_on = "<|start|>assistant";
  }
};

Json begun() { return Json::array({message("system", "Be brief."), message("user", "go")}); }
Json returned_call(const char* content) {
  auto turn = call_message(content, "ls", "{\"n\": 1, \"path\": \"\\u00e4\"}", "functions.ls:0");
  turn["reasoning_content"] = "Hm";
  return turn;
}

TEST(FamilyTurns, ACallThatComesBackGoesOnWithTheSampledIds) {
  for (const auto& family : families()) {
    FamilyLab lab(family);
    ASSERT_TRUE(lab.jinja);
    auto first = lab.ask(begun());
    const auto call = lab.reply(first, family.sampled, {.end = family.end});
    auto messages = begun();
    messages.push_back(returned_call(family.syntax.has_channels() ? "" : "Let me look."));
    messages.push_back(message("tool", "a.txt"));
    const auto next = lab.ask(messages);
    EXPECT_EQ(next.match.calls, std::vector{call}) << family.name << next.rendering;
    EXPECT_EQ(next.split, SplitCause::none) << family.name;
    EXPECT_TRUE(next.differences.has(Difference::arguments)) << family.name;
    const auto sampled = Lab::encode(cat(first.rendering, family.sampled, family.end));
    ASSERT_GT(next.ids.size(), sampled.size());
    EXPECT_TRUE(std::equal(sampled.begin(), sampled.end(), next.ids.begin())) << family.name;
  }
}

TEST(FamilyTurns, AnotherCallOrAnotherThoughtIsAnotherTurn) {
  for (const auto& family : families())
    for (const bool is_call : {true, false}) {
      FamilyLab lab(family);
      auto first = lab.ask(begun());
      lab.reply(first, family.sampled, {.end = family.end});
      auto messages = begun();
      messages.push_back(returned_call(family.syntax.has_channels() ? "" : "Let me look."));
      if (is_call) messages.back()["tool_calls"][0]["function"]["arguments"] = "{\"n\": 2, \"path\": \"ä\"}";
      else messages.back()["reasoning_content"] = "Hmm";
      messages.push_back(message("tool", "a.txt"));
      const auto next = lab.ask(messages);
      EXPECT_EQ(next.match.node, nullptr) << family.name;
      EXPECT_EQ(next.split, SplitCause::reply_changed) << family.name;
    }
}

// gpt-oss' template leaves out what was thought before an answer.
TEST(FamilyTurns, AHarmonyAnswerSplitsByItsThoughtUnlessItIsKept) {
  for (const bool keeps : {false, true}) {
    FamilyLab lab(families().back());
    lab.rules.keeps_reasoning = keeps;
    auto first = lab.ask(begun());
    lab.reply(first, "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
              {.end = "<|return|>"});
    auto messages = begun();
    messages.push_back(message("assistant", "Yes."));
    messages.push_back(message("user", "sure?"));
    const auto next = lab.ask(messages);
    EXPECT_EQ(next.split, keeps ? SplitCause::none : SplitCause::reasoning_dropped);
    EXPECT_EQ(next.match.calls.size(), keeps ? 1U : 0U);
    EXPECT_EQ(next.differences.has(Difference::kept_reasoning), keeps);
  }
}
}  // namespace
}  // namespace corisco::gateway::fakes
