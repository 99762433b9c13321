// What all families share: names, guessing, reasoning, what is held back, the JSON grammar.
#include "gateway/tool_calls/json_scanner.h"

#include <cstdlib>
#include <utility>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "gateway/every_split.h"

namespace corisco::gateway::tool_calls::testing {
namespace {
constexpr const char* kFamilies[] = {"hermes", "qwen3_coder", "llama3_json", "mistral",
                                     "deepseek_v3", "glm45", "pythonic", "deepseek_v32",
                                     "kimi_k2", "gemma", "openai"};

TEST(MakeToolParser, KnowsTheFamiliesAndListsThemForAnUnknownOne) {
  for (const char* name : kFamilies)
    EXPECT_TRUE(make_tool_parser(name, nullptr).ok()) << name;
  const auto unknown = make_tool_parser("gpt", nullptr);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message,
            "no tool-call parser is named 'gpt'; use one of hermes, qwen3_coder, llama3_json, mistral, "
            "deepseek_v3, deepseek_v31, glm45, glm47, pythonic, llama4_pythonic, deepseek_v32, kimi_k2, gemma, openai");
}

TEST(GuessFamily, FromTheTemplateThenTheModelType) {
  EXPECT_EQ(guess_family("{{ '<tool_call>\\n{\"name\": ' }}", "qwen2"), "hermes");
  EXPECT_EQ(guess_family("<tool_call>\n<function=f>\n<parameter=a>", "qwen3_moe"), "qwen3_coder");
  EXPECT_EQ(guess_family("<tool_call>{name}\n<arg_key>", "glm4_moe"), "glm45");
  EXPECT_EQ(guess_family("{{'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>'}}", "qwen2"), "deepseek_v3");
  const std::string section = "{{'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + ";
  EXPECT_EQ(guess_family(section + "tool['type'] + '<｜tool▁sep｜>' + tool['name'] + '\\n```json'}}", "deepseek_v3"),
            "deepseek_v3");
  EXPECT_EQ(guess_family(section + "tool['name'] + '<｜tool▁sep｜>' + tool['arguments']}}", "deepseek_v3"),
            "deepseek_v31");
  EXPECT_EQ(guess_family("", "deepseek_v3"), "deepseek_v3");
  EXPECT_EQ(guess_family("<tool_call>{name}<arg_key>{key}</arg_key>", "glm4_moe"), "glm47");
  EXPECT_EQ(guess_family("[TOOL_CALLS]", "llama"), "mistral");
  EXPECT_EQ(guess_family("{{- \"<|python_tag|>\" }}", "llama"), "llama3_json");
  EXPECT_EQ(guess_family("", "mistral"), "mistral");
  EXPECT_EQ(guess_family("{%- set dsml_token = '｜DSML｜' -%}<tool_call>", "deepseek_v3"), "deepseek_v32");
  EXPECT_EQ(guess_family("<|tool_calls_section_begin|>", "kimi_k2"), "kimi_k2");
  EXPECT_EQ(guess_family("{{- '<|start|>assistant<|channel|>final<|message|>' }}", "gpt_oss"), "openai");
  EXPECT_EQ(guess_family("<start_function_call>call:{{ name }}{", "gemma3_text"), "gemma");
  EXPECT_EQ(guess_family("{{- '<|tool_call>call:' + function['name'] + '{' -}}", "gemma4"), "gemma");
  EXPECT_EQ(guess_family("", "deepseek_v32"), "deepseek_v32");
  EXPECT_EQ(guess_family("", "gpt_oss"), "openai");
  EXPECT_EQ(guess_family("<minimax:tool_call><tool_call>", "minimax"), std::nullopt);
  EXPECT_EQ(guess_family("{{ message.content }}", "llama"), std::nullopt);
}

// CORISCO_TEMPLATES: what scripts/fetch_templates.sh prints.
TEST(GuessFamily, OfRealTemplates) {
  const char* folder = std::getenv("CORISCO_TEMPLATES");
  if (folder == nullptr || *folder == '\0')
    GTEST_SKIP() << "set CORISCO_TEMPLATES to what scripts/fetch_templates.sh prints";
  const std::pair<const char*, const char*> expected[] = {
      {"deepseek-ai-DeepSeek-V3.1", "deepseek_v31"}, {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek_v3"},
      {"llama-cpp-deepseek-r1", "deepseek_v3"},      {"deepseek-ai-DeepSeek-V3.2", "deepseek_v32"},
      {"deepseek-ai-DeepSeek-V4", "deepseek_v32"},   {"GLM-4.6", "glm45"},
      {"GLM-4.7-Flash", "glm47"},                    {"Kimi-K2-Instruct", "kimi_k2"},
      {"google-gemma-4-31B-it", "gemma"},            {"openai-gpt-oss-120b", "openai"},
      {"Qwen3-Coder", "qwen3_coder"},                {"Qwen-Qwen3-0.6B", "hermes"}};
  for (const auto& [name, family] : expected) {
    const auto source = files::read(cat(folder, "/", name, ".jinja"));
    ASSERT_TRUE(source.ok()) << source.error().message;
    EXPECT_EQ(guess_family(source.value(), "llama"), family) << name;
  }
}

MakeParser reasoning(bool is_open, std::string implicit_end = "", const char* family = "hermes") {
  return [=] {
    auto rest = family == nullptr ? nullptr : maker(family)();
    return make_reasoning_parser({"<think>", "</think>", implicit_end}, is_open, std::move(rest));
  };
}
const std::string kCall = R"(<tool_call>{"name": "f"}</tool_call>)";
const std::string kCallLog = "\nbegin 0: f\narguments 0: {}\nend 0: ";

TEST(Reasoning, WrittenByTheModel) {
  EXPECT_EQ(read_every_way(reasoning(false), "\n<think>\nHm < é\n</think>\n\nSo.").log,
            "\nreasoning: \nHm < é\n\ntext: \n\nSo.");
  EXPECT_EQ(read_every_way(reasoning(false), "<think>a" + kCall + "</think>\n" + kCall).log,
            "\nreasoning: a" + kCall + kCallLog);
  EXPECT_EQ(read_every_way(reasoning(false), "no <think>x</think>").log, "\ntext: no <think>x</think>");
  EXPECT_EQ(read_every_way(reasoning(false), " <thin").log, "\ntext:  <thin");
  EXPECT_EQ(read_every_way(reasoning(false, "", nullptr), "<think>a</think>b" + kCall).log,
            "\nreasoning: a\ntext: b" + kCall);
}

TEST(Reasoning, OpenedByTheTemplate) {
  EXPECT_EQ(read_every_way(reasoning(true), "Hm</think>" + kCall).log, "\nreasoning: Hm" + kCallLog);
  EXPECT_EQ(read_every_way(reasoning(true), "<think>\nHm</think>x").log, "\nreasoning: \nHm\ntext: x");
  EXPECT_EQ(read_every_way(reasoning(true), "never ends </thin").log, "\nreasoning: never ends </thin");
  EXPECT_TRUE(ends_in_reasoning("<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(ends_in_reasoning("<|im_start|>assistant\n<think>\n\n</think>\n\n"));
}

TEST(Reasoning, EndedByACallOnlyWhereConfigured) {
  const auto reply = "use `<tool_call>`:\n" + kCall;
  EXPECT_EQ(read_every_way(reasoning(true, "<tool_call>"), reply).log, "\nreasoning: use `<tool_call>`:\n" + kCallLog);
  EXPECT_EQ(read_every_way(reasoning(true), reply).log, "\nreasoning: " + reply);
}

std::string shown(Parser& parser, std::string_view piece) {
  std::string all;
  for (const auto& event : parser.push(piece)) all += "[" + tag_of(event) + " " + event.text + "]";
  return all;
}

TEST(HeldBack, OnlyWhatMayBeAMarker) {
  const auto parser = maker("hermes")();
  EXPECT_EQ(shown(*parser, "a"), "[text a]");
  EXPECT_EQ(shown(*parser, "b <tool"), "[text b ]");
  EXPECT_EQ(shown(*parser, "s"), "[text <tools]");
  EXPECT_EQ(shown(*parser, "\n<tool_call>{\"name\": \"f\", \"arguments\": "), "[text \n]");
  EXPECT_EQ(shown(*parser, "{\"a"), "[begin 0 f][arguments 0 {\"a]");
  EXPECT_EQ(shown(*parser, "\": 1"), "[arguments 0 \": 1]");
  EXPECT_EQ(shown(*parser, "}}</tool_call>\n"), "[arguments 0 }][end 0 ]");
  EXPECT_EQ(shown(*parser, "x"), "[text \nx]");
}

TEST(HeldBack, StringsOfTagsStream) {
  const auto parser = maker("qwen3_coder")();
  EXPECT_EQ(shown(*parser, "<tool_call><function=f>\n<parameter=a>\nx"), "[begin 0 f][arguments 0 {\"a\": \"x]");
  EXPECT_EQ(shown(*parser, "y\n"), "[arguments 0 y]");
  EXPECT_EQ(shown(*parser, "z</param"), "[arguments 0 \\nz]");
}

JsonScanner::Step scan(std::string_view text) {
  JsonScanner scanner;
  auto step = JsonScanner::Step::more;
  for (const char c : text) {
    if (step != JsonScanner::Step::more) return JsonScanner::Step::broken;
    step = scanner.push(c);
  }
  return step;
}

// Checked against nlohmann's parser: a second implementation of the grammar.
TEST(JsonScanner, AcceptsWhatNlohmannAccepts) {
  const std::string base = R"({"a":-1.5e+3,"b":[true,null,"\u00e9\n"],"c":{}})";
  const std::string marks = "{}[]\",:\\u0e-+.tn \n";
  EXPECT_EQ(scan(base), JsonScanner::Step::done);
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    auto text = base;
    for (auto edits = 1 + random() % 2; edits > 0; --edits) {
      const auto at = random() % text.size();
      const bool is_erased = random() % 2 == 0;
      if (is_erased) text.erase(at, 1);
      if (!is_erased) text.insert(at, 1, marks[random() % marks.size()]);
    }
    if (text.back() == ' ' || text.back() == '\n') continue;   // after its end
    const auto parsed = parse_json(text);
    EXPECT_EQ(scan(text) == JsonScanner::Step::done, parsed.is_object()) << text;
  }
}

TEST(JsonScanner, NestingIsBounded) {
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100; ++i) deep += "[";
  EXPECT_EQ(scan(deep), JsonScanner::Step::broken);
}

// Bytes of all sorts: nothing is lost, nothing is invented, however it is cut.
TEST(EveryFamily, RandomRepliesLoseNothingAndSplitAnywhere) {
  const char* const kPieces[] = {
      "<tool_call>", "</tool_call>", "{\"name\": \"f\", \"arguments\": {\"a\": \"b\"}}", "{", "}", "\"", "\n", " ",
      "<function=f>", "<parameter=a>", "</parameter>", "</function>", "x é", "[TOOL_CALLS]", "[", "]", "f[ARGS]",
      ",", ";", "<|python_tag|>", "f(a=1)", "<arg_key>a</arg_key>", "<arg_value>", "</arg_value>",
      "<｜tool▁call▁begin｜>", "function<｜tool▁sep｜>", "```json", "f",
      "<｜DSML｜function_calls>", "<｜DSML｜invoke name=\"f\">", "<｜DSML｜parameter name=\"a\" string=\"true\">",
      "</｜DSML｜parameter>", "</｜DSML｜invoke>", "<|tool_calls_section_begin|>", "<|tool_call_begin|>functions.f:0",
      "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|tool_call>", "call:f{", "a:", "<|\"|>", "<tool_call|>",
      "<|start|>assistant", "<|channel|>commentary", " to=functions.f", "<|message|>", "<|end|>", "<|call|>"};
  std::mt19937 random(11);
  for (const char* name : kFamilies) {
    for (int round = 0; round < 40; ++round) {
      std::string reply;
      for (auto pieces = random() % 12; pieces > 0; --pieces) reply += kPieces[random() % std::size(kPieces)];
      const auto seen = read_every_way(maker(name), reply);
      const bool drops_heads = name == std::string("openai");   // of messages that are text
      if (seen.calls.empty() && !drops_heads) { EXPECT_EQ(seen.all_text, reply) << name; }
      for (const auto& call : seen.calls)
        EXPECT_TRUE(call.is_broken || nlohmann::json::accept(call.arguments)) << seen.log;
    }
  }
}
}  // namespace
}  // namespace corisco::gateway::tool_calls::testing
