#include "gateway/tool_calls/literal_call_grammar.h"

#include "corisco/base/strings.h"
#include "gateway/tool_calls/argument_values.h"
#include "gateway/tool_calls/input.h"
#include "gateway/tool_calls/literal_values.h"

namespace corisco::gateway::tool_calls {
namespace {
LiteralForm python_literals(GrammarText& out) {
  LiteralForm form;
  form.family = "pythonic";
  form.true_word = out.literal("True");
  form.false_word = out.literal("False");
  form.null_word = out.literal("None");
  form.comma = out.literal(", ");
  form.any_text = out.named(R"(/"([^"\\\x00-\x1F\x7F]|\\["\\nrt])*"/)");
  form.any_key = cat(form.any_text, " ", out.literal(": "));
  form.text = [&out](std::string_view text) { return out.literal(json_string(text)); };   // is Python's too
  form.key = [&out](std::string_view key) { return out.literal(json_string(key) + ": "); };
  return form;
}

bool is_bare_key(std::string_view key) {
  return is_name(key) && key.find(':') == std::string_view::npos;
}

LiteralForm gemma_literals(const std::string& quote, GrammarText& out) {
  LiteralForm form;
  form.family = "gemma";
  form.true_word = out.literal("true");
  form.false_word = out.literal("false");
  form.null_word = out.literal("null");
  form.comma = out.literal(",");
  form.any_text = out.named(cat(out.written(quote), " ", out.up_to(quote)));
  form.any_key = "/[A-Za-z_][A-Za-z0-9_]*:/";
  form.text = [&out, quote](std::string_view text) {
    return cat(out.written(quote), " ", text.empty() ? std::string() : out.literal(text), " ", out.written(quote));
  };
  form.key = [&out, text = form.text](std::string_view key) {
    return is_bare_key(key) ? out.literal(cat(key, ":")) : cat(text(key), " ", out.literal(":"));
  };
  form.sorts_keys = true;
  return form;
}
}  // namespace

std::string pythonic_call(const std::vector<CallableTool>& tools, GrammarText& out) {
  const auto form = python_literals(out);
  const auto key = [&out](std::string_view name) {
    if (!is_name(name)) out.refuse(cat("'", name, "' cannot be an argument's name in calls as pythonic writes them"));
    return out.literal(cat(name, "="));
  };
  GrammarText::Texts calls;
  for (const auto& tool : tools)
    calls.push_back(cat(out.literal(tool.name + "("), " ", LiteralValues(form, tool, out).members(key), " ",
                        out.literal(")")));
  return out.choice(calls);
}

std::string gemma_call(const std::vector<CallableTool>& tools, const std::string& quote, std::string_view end,
                       GrammarText& out) {
  const auto form = gemma_literals(quote, out);
  GrammarText::Texts calls;
  for (const auto& tool : tools)
    calls.push_back(cat(out.literal("call:" + tool.name), " ", LiteralValues(form, tool, out).arguments(), " ",
                        out.written(end)));
  return out.choice(calls);
}
}  // namespace corisco::gateway::tool_calls
