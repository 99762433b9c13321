#include "gateway/tool_calls/call_grammar.h"

#include "corisco/base/strings.h"
#include "gateway/tool_calls/argument_values.h"
#include "gateway/tool_calls/tagged_call_grammar.h"

namespace corisco::gateway::tool_calls {
namespace {
using Tools = std::vector<CallableTool>;
using Json = nlohmann::ordered_json;

std::string arguments_of(const CallableTool& tool, GrammarText& out) {
  const Json any = {{"type", "object"}};
  return out.schema(tool.parameters.is_object() ? tool.parameters : any, tool.is_strict);
}

std::string alternatives(const std::vector<std::string>& bodies) { return cat("(", join(bodies, " | "), ")"); }

// {"name": "N", "arguments": {...}} of each tool.
std::string json_calls(const Tools& tools, const char* arguments_name, GrammarText& out) {
  std::vector<std::string> calls;
  for (const auto& tool : tools) {
    const auto head = out.literal(cat("{\"name\": ", json_string(tool.name), ", \"", arguments_name, "\": "));
    calls.push_back(cat(head, " ", arguments_of(tool, out), " ", out.literal("}")));
  }
  return alternatives(calls);
}

// NAME between two fixed texts, then the arguments and a last text.
std::string named_calls(const Tools& tools, const std::string& before, const std::string& after_name,
                        const std::string& tail, GrammarText& out) {
  std::vector<std::string> calls;
  for (const auto& tool : tools)
    calls.push_back(cat(before, " ", out.literal(tool.name), " ", after_name, " ", arguments_of(tool, out), " ", tail));
  return alternatives(calls);
}

std::string several(const std::string& call, const std::string& between, bool is_single, GrammarText& out) {
  out.rule("call", call);
  return is_single ? "call" : cat("call (", between, " call)*");
}

std::string mistral_calls(const Tools& tools, bool is_single, bool has_arguments_token, GrammarText& out) {
  const auto begin = out.marker("[TOOL_CALLS]");
  if (has_arguments_token)
    return several(named_calls(tools, begin, out.marker("[ARGS]"), "", out), "", is_single, out);
  const auto calls = several(json_calls(tools, "arguments", out), out.literal(", "), is_single, out);
  return cat(begin, " ", out.literal("["), " ", calls, " ", out.literal("]"));
}

std::string deepseek_calls(const Tools& tools, bool is_single, bool is_fenced, GrammarText& out) {
  const auto begin_call = cat(out.marker("<｜tool▁call▁begin｜>"), is_fenced ? cat(" ", out.literal("function"), " ",
                              out.marker("<｜tool▁sep｜>")) : std::string());
  const auto after_name = is_fenced ? out.literal("\n```json\n") : out.marker("<｜tool▁sep｜>");
  const auto end_call = out.marker("<｜tool▁call▁end｜>");
  const auto tail = is_fenced ? cat(out.literal("\n```"), " ", end_call) : end_call;
  const auto call = named_calls(tools, begin_call, after_name, tail, out);
  const auto calls = several(call, is_fenced ? out.literal("\n") : "", is_single, out);
  return cat(out.marker("<｜tool▁calls▁begin｜>"), " ", calls, " ", out.marker("<｜tool▁calls▁end｜>"));
}

// What opens a call in text, and the rest of it.
struct TaggedCall {
  std::string opener, rest;
};

std::optional<TaggedCall> tagged_call(std::string_view family, const Tools& tools, GrammarText& out) {
  if (family == "hermes")
    return TaggedCall{"<tool_call>", cat(out.literal("\n"), " ", json_calls(tools, "arguments", out), " ",
                                         out.literal("\n"), " ", out.marker("</tool_call>"))};
  if (family == "qwen3_coder") return TaggedCall{"<tool_call>", qwen3_coder_call(tools, out)};
  if (family == "glm45") return TaggedCall{"<tool_call>", glm_call(tools, true, out)};
  if (family == "glm47") return TaggedCall{"<tool_call>", glm_call(tools, false, out)};
  return std::nullopt;
}
}  // namespace

std::vector<std::string> families_with_grammars() {
  return {"hermes", "qwen3_coder", "llama3_json", "mistral", "deepseek_v3", "deepseek_v31", "glm45", "glm47"};
}

std::optional<std::string> write_calls(std::string_view family, const Tools& tools, bool is_single,
                                       GrammarText& out) {
  if (const auto tagged = tagged_call(family, tools, out))
    return several(cat(out.marker(tagged->opener), " ", tagged->rest), out.literal("\n"), is_single, out);
  if (family == "llama3_json") return several(json_calls(tools, "parameters", out), out.literal("; "), is_single, out);
  if (family == "mistral") return mistral_calls(tools, is_single, out.has_special("[ARGS]"), out);
  if (family == "deepseek_v3") return deepseek_calls(tools, is_single, true, out);
  if (family == "deepseek_v31") return deepseek_calls(tools, is_single, false, out);
  return std::nullopt;
}

std::optional<std::string> write_text_with_calls(std::string_view family, const Tools& tools, GrammarText& out) {
  const auto tagged = tagged_call(family, tools, out);
  if (!tagged) return std::nullopt;
  out.rule("call", tagged->rest);
  return cat("(", out.up_to(tagged->opener), " call)* ", out.without(tagged->opener));
}
}  // namespace corisco::gateway::tool_calls
