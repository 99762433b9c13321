#include "gateway/reply_grammar.h"

#include <algorithm>
#include <utility>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "gateway/json_fields.h"
#include "gateway/tool_calls/call_grammar.h"

namespace corisco::gateway {
namespace {
using tool_calls::CallableTool;
using tool_calls::GrammarText;
using Kind = ReplyForm::Kind;
using PartKind = text::GrammarPart::Kind;

constexpr const char* kOpen = "<think>";
constexpr const char* kClose = "</think>";

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Those that may be called, in OpenAI's form.
std::vector<CallableTool> callable_tools(const ChatRequest& request) {
  std::vector<CallableTool> tools;
  if (request.tools_json.empty()) return tools;
  for (const auto& tool : parse_ordered_json(request.tools_json)) {
    const auto function = tool.is_object() ? tool.value("function", Json()) : Json();
    const auto name = function.is_object() ? function.value("name", Json()) : Json();
    if (!name.is_string()) continue;
    const auto& allowed = request.forced_call.names;
    if (!allowed.empty() && !is_among(allowed, name.get<std::string>())) continue;
    tools.push_back({name.get<std::string>(), function.value("parameters", Json()),
                     is_among(request.strict_tools, name.get<std::string>())});
  }
  return tools;
}

std::string form_body(const ReplyForm& form, GrammarText& out) {
  if (form.kind == Kind::json_schema) return out.schema(parse_ordered_json(form.text), form.is_strict);
  if (form.kind == Kind::regex) return out.part(PartKind::regex, form.text);
  if (form.kind == Kind::lark) return out.part(PartKind::lark, form.text);
  std::vector<std::string> choices;
  for (const auto& choice : form.choices) choices.push_back(out.literal(choice));
  return cat("(", join(choices, " | "), ")");
}

ApiError no_grammar(const std::string& field, const std::string& family) {
  const auto how = family.empty() ? std::string("this model is not known to write calls (gateway.tool_parser)")
                                  : cat("calls as ", family, " writes them cannot be forced here");
  return invalid_request(cat("'", field, "' needs calls that can be forced, but ", how, "; those of ",
                             join(tool_calls::families_with_grammars(), ", "), " can. Send tool_choice auto"),
                         field, "unsupported_parameter");
}

// The model's channels are no part of these grammars.
bool replies_in_channels(const ReplySyntax& syntax) { return syntax.tool_parser == "openai"; }

WantedGrammar finished(Constraint constraint, const std::string& body, std::string field, Thinking thinking,
                       GrammarText& out) {
  const auto blanks = "(/[ \\n]{1,4}/)?";
  std::string start = body;
  if (thinking != Thinking::none) out.rule("thoughts", cat(out.up_to(kClose), " ", blanks));
  if (thinking == Thinking::is_open) start = cat("thoughts (", body, ")");
  if (thinking == Thinking::may_open) start = cat("(", out.marker(kOpen), " thoughts)? (", body, ")");
  out.rule("start", start);
  return {constraint, out.take(), std::move(field)};
}

OrApiError<WantedGrammar> forced_calls(const ChatRequest& request, const ReplySyntax& syntax, Thinking thinking,
                                       GrammarText& out) {
  const auto calls = tool_calls::write_calls(syntax.tool_parser, callable_tools(request),
                                             !request.allows_several_calls, out);
  if (!calls) return no_grammar(request.forced_call.field, syntax.tool_parser);
  return finished(Constraint::forced_call, *calls, request.forced_call.field, thinking, out);
}

// An answer in the form or, if there are tools, calls.
OrApiError<WantedGrammar> form_or_calls(const ChatRequest& request, const ReplySyntax& syntax, Thinking thinking,
                                        GrammarText& out) {
  const auto& field = request.form.field;
  auto body = form_body(request.form, out);
  if (request.reads_tool_calls && !request.tools_json.empty()) {
    const auto calls = tool_calls::write_calls(syntax.tool_parser, callable_tools(request),
                                               !request.allows_several_calls, out);
    if (!calls) return no_grammar(field, syntax.tool_parser);
    body = cat(body, " | ", *calls);
  }
  return finished(Constraint::form, body, field, thinking, out);
}
}  // namespace

const char* to_string(Constraint constraint) {
  switch (constraint) {
    case Constraint::none: return "none";
    case Constraint::form: return "form";
    case Constraint::forced_call: return "forced_call";
    case Constraint::strict_tools: return "strict_tools";
  }
  return "none";
}

Thinking thinking_of(const ReplySyntax& syntax, bool is_completion, std::string_view prompt_text) {
  if (is_completion || !syntax.has_reasoning) return Thinking::none;
  const auto text = trim(prompt_text);
  if (ends_with(text, kOpen)) return Thinking::is_open;
  return ends_with(text, kClose) ? Thinking::none : Thinking::may_open;
}

OrApiError<WantedGrammar> wanted_grammar(const ChatRequest& request, const ReplySyntax& syntax, Thinking thinking,
                                         const text::Tokenizer& tokenizer) {
  GrammarText out(tokenizer);
  const bool has_form = request.form.kind != Kind::free;
  if (has_form && replies_in_channels(syntax) && !request.is_completion())
    return invalid_request(cat("'", request.form.field, "' cannot be obeyed by a model that replies in channels"),
                           request.form.field, "unsupported_parameter");
  if (request.forced_call.is_forced) return forced_calls(request, syntax, thinking, out);
  if (has_form) return form_or_calls(request, syntax, thinking, out);
  if (request.strict_tools.empty() || !request.reads_tool_calls) return WantedGrammar();
  const auto body = tool_calls::write_text_with_calls(syntax.tool_parser, callable_tools(request), out);
  if (!body) return WantedGrammar();
  return finished(Constraint::strict_tools, *body, "tools", thinking, out);
}

Result<std::shared_ptr<const text::Grammar>> ReplyGrammars::compile(const text::GrammarSource& source) {
  if (!compiler_) {
    CORISCO_TRY(compiler_, text::GrammarCompiler::create(*tokenizer_, end_ids_));
  }
  return compiler_->compile(source);
}
}  // namespace corisco::gateway
