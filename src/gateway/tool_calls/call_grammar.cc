#include "gateway/tool_calls/call_grammar.h"

#include "corisco/base/strings.h"
#include "gateway/tool_calls/argument_values.h"
#include "gateway/tool_calls/harmony_grammar.h"
#include "gateway/tool_calls/literal_call_grammar.h"
#include "gateway/tool_calls/tagged_call_grammar.h"

namespace corisco::gateway::tool_calls {
namespace {
using Tools = std::vector<CallableTool>;

// What stands around all calls of a section.
struct Frame {
  std::string begin, end;
};

// Rule bodies, but for the openers.
struct CallForm {
  // By which the parser tells calls from text; the first is the one that is written. None: nothing does.
  GrammarText::Texts openers;
  std::string call;
  std::string between = {};              // two calls
  bool is_section = false;               // the opener stands once, before all calls, else before each
  std::vector<Frame> frames = {Frame()};   // each will do
};

// {"name": "N", "arguments": {...}} of each tool.
std::string json_calls(const Tools& tools, const char* arguments_name, GrammarText& out) {
  GrammarText::Texts calls;
  for (const auto& tool : tools) {
    const auto head = out.literal(cat("{\"name\": ", json_string(tool.name), ", \"", arguments_name, "\": "));
    calls.push_back(cat(head, " ", json_arguments(tool, out), " ", out.literal("}")));
  }
  return out.choice(calls);
}

// NAME between two texts, then the arguments and a last text; each a rule body.
std::string named_calls(const Tools& tools, const std::string& before, const std::string& after_name,
                        const std::string& tail, GrammarText& out) {
  GrammarText::Texts calls;
  for (const auto& tool : tools)
    calls.push_back(join({before, out.literal(tool.name), after_name, json_arguments(tool, out), tail}, " "));
  return out.choice(calls);
}

CallForm hermes(const Tools& tools, GrammarText& out) {
  const auto call = json_calls(tools, "arguments", out);
  return {{"<tool_call>"}, cat(out.literal("\n"), " ", call, " ", out.written("\n</tool_call>")), out.literal("\n")};
}

CallForm qwen3_coder(const Tools& tools, GrammarText& out) {
  return {{"<tool_call>", "<function="}, qwen3_coder_call(tools, out), out.literal("\n")};
}

CallForm glm(const Tools& tools, bool has_newlines, GrammarText& out) {
  return {{"<tool_call>"}, glm_call(tools, has_newlines, out), out.literal("\n")};
}

CallForm llama3_json(const Tools& tools, GrammarText& out) {
  return {{}, json_calls(tools, "parameters", out), out.literal("; ")};
}

CallForm mistral(const Tools& tools, GrammarText& out) {
  if (out.has_token("[ARGS]")) return {{"[TOOL_CALLS]"}, named_calls(tools, "", out.written("[ARGS]"), "", out)};
  return {{"[TOOL_CALLS]"}, json_calls(tools, "arguments", out), out.literal(", "), true,
          {{out.literal("["), out.literal("]")}}};
}

CallForm deepseek(const Tools& tools, bool is_fenced, GrammarText& out) {
  const auto begin = out.written(is_fenced ? "<｜tool▁call▁begin｜>function<｜tool▁sep｜>" : "<｜tool▁call▁begin｜>");
  const auto after_name = out.written(is_fenced ? "\n```json\n" : "<｜tool▁sep｜>");
  const auto tail = out.written(is_fenced ? "\n```<｜tool▁call▁end｜>" : "<｜tool▁call▁end｜>");
  return {{"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"},
          named_calls(tools, begin, after_name, tail, out),
          is_fenced ? out.literal("\n") : "",
          true,
          {{"", out.written("<｜tool▁calls▁end｜>")}}};
}

CallForm kimi_k2(const Tools& tools, GrammarText& out) {
  const auto after_name = cat("/:[0-9]{1,4}/ ", out.written("<|tool_call_argument_begin|>"));
  return {{"<|tool_calls_section_begin|>", "<|tool_call_begin|>"},
          named_calls(tools, out.written("<|tool_call_begin|>functions."), after_name,
                      out.written("<|tool_call_end|>"), out),
          "",
          true,
          {{"", out.written("<|tool_calls_section_end|>")}}};
}

// The section's word is the model's choice: V3.2 has one, V4 the other.
CallForm deepseek_v32(const Tools& tools, GrammarText& out) {
  std::vector<Frame> frames;
  for (const auto* word : {"function_calls", "tool_calls"})
    frames.push_back({out.literal(cat(word, ">\n")), out.written(cat("</｜DSML｜", word, ">"))});
  return {{"<｜DSML｜"}, dsml_call(tools, out), "", true, frames};
}

// A list, also in Llama 4's markers where the tokenizer has them.
CallForm pythonic(const Tools& tools, GrammarText& out) {
  std::vector<Frame> frames = {{out.literal("["), out.literal("]")}};
  if (out.has_token("<|python_start|>"))
    frames.push_back({out.written("<|python_start|>["), out.written("]<|python_end|>")});
  return {{}, pythonic_call(tools, out), out.literal(", "), true, frames};
}

CallForm gemma(const Tools& tools, GrammarText& out) {
  if (out.has_token("<start_function_call>"))
    return {{"<start_function_call>", "<|tool_call>"}, gemma_call(tools, "<escape>", "<end_function_call>", out)};
  return {{"<|tool_call>", "<start_function_call>"}, gemma_call(tools, "<|\"|>", "<tool_call|>", out)};
}

struct Family {
  const char* name;
  CallForm (*write)(const Tools& tools, GrammarText& out);
};
constexpr const char* kHarmony = "openai";   // whose calls are messages of their own, one a reply
constexpr Family kFamilies[] = {
    {"hermes", hermes},
    {"qwen3_coder", qwen3_coder},
    {"llama3_json", llama3_json},
    {"mistral", mistral},
    {"deepseek_v3", [](const Tools& tools, GrammarText& out) { return deepseek(tools, true, out); }},
    {"deepseek_v31", [](const Tools& tools, GrammarText& out) { return deepseek(tools, false, out); }},
    {"glm45", [](const Tools& tools, GrammarText& out) { return glm(tools, true, out); }},
    {"glm47", [](const Tools& tools, GrammarText& out) { return glm(tools, false, out); }},
    {"pythonic", pythonic},
    {"llama4_pythonic", pythonic},
    {"deepseek_v32", deepseek_v32},
    {"kimi_k2", kimi_k2},
    {"gemma", gemma},
};

std::optional<CallForm> form_of(std::string_view family, const Tools& tools, GrammarText& out) {
  for (const auto& known : kFamilies)
    if (family == known.name) return known.write(tools, out);
  return std::nullopt;
}

// Each way to frame a section's calls.
std::string framed(const CallForm& form, const std::string& calls, const GrammarText& out) {
  GrammarText::Texts sections;
  for (const auto& [begin, end] : form.frames) sections.push_back(cat(begin, " ", calls, " ", end));
  return out.choice(sections);
}
}  // namespace

std::string json_arguments(const CallableTool& tool, GrammarText& out) {
  const nlohmann::ordered_json any = {{"type", "object"}};
  return out.schema(tool.parameters.is_object() ? tool.parameters : any, tool.is_strict);
}

std::vector<std::string> families_with_grammars() {
  std::vector<std::string> names;
  for (const auto& family : kFamilies) names.emplace_back(family.name);
  names.emplace_back(kHarmony);
  return names;
}

std::optional<std::string> write_calls(std::string_view family, const Tools& tools, bool is_single,
                                       GrammarText& out) {
  if (family == kHarmony) return harmony_call(tools, out);
  const auto form = form_of(family, tools, out);
  if (!form) return std::nullopt;
  const auto opener = form->openers.empty() ? std::string() : out.written(form->openers.front());
  out.rule("call", form->is_section ? form->call : cat(opener, " ", form->call));
  const auto calls = is_single ? std::string("call") : cat("call (", form->between, " call)*");
  return form->is_section ? cat(opener, " ", framed(*form, calls, out)) : calls;
}

std::optional<std::string> write_text_with_calls(std::string_view family, const Tools& tools, GrammarText& out) {
  if (family == kHarmony) return harmony_text_with_calls(tools, out);
  const auto form = form_of(family, tools, out);
  if (!form || form->openers.empty()) return std::nullopt;
  out.rule("call", form->call);
  const auto calls = form->is_section ? framed(*form, cat("call (", form->between, " call)*"), out) : "call";
  const GrammarText::Texts others(form->openers.begin() + 1, form->openers.end());
  return cat("(", out.up_to(form->openers.front(), others), " ", calls, ")* ", out.without(form->openers));
}
}  // namespace corisco::gateway::tool_calls
