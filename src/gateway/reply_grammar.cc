#include "gateway/reply_grammar.h"

#include <algorithm>
#include <utility>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "gateway/json_fields.h"
#include "gateway/reply_reading.h"
#include "gateway/tool_calls/call_grammar.h"
#include "gateway/tool_calls/harmony_grammar.h"

namespace corisco::gateway {
namespace {
using tool_calls::CallableTool;
using tool_calls::GrammarText;
using Kind = ReplyForm::Kind;
using PartKind = text::GrammarPart::Kind;

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
  GrammarText::Texts choices;
  for (const auto& choice : form.choices) choices.push_back(out.literal(choice));
  return out.choice(choices);
}

// What is asked, and of whom.
struct Asked {
  const ChatRequest& request;
  const ReplySyntax& syntax;
  Thinking thinking = Thinking::none;
};

ApiError no_grammar(const std::string& field) {
  const auto known = join(tool_calls::families_with_grammars(), ", ");
  return invalid_request(cat("'", field, "' needs tool calls, but this model is not known to write any. Name how it "
                             "does in the config's gateway.tool_parser (", known, "), or send tool_choice auto"),
                         field, "unsupported_parameter");
}

// The body, after what the model may think.
std::string after_thoughts(const Asked& asked, const std::string& body, GrammarText& out) {
  if (asked.thinking == Thinking::none) return body;
  const auto tags = reasoning_tags_of(asked.syntax);
  if (!tags) return cat("(", tool_calls::harmony_thoughts(out), ")? (", body, ")");
  const auto thoughts = cat(out.up_to(tags->close), " (/[ \\n]{1,4}/)?");
  if (asked.thinking == Thinking::is_open) return cat(thoughts, " (", body, ")");
  return cat("(", out.written(tags->open), " ", thoughts, ")? (", body, ")");
}

// What a grammar cannot say of a strict tool is refused, or left alone if the tool need not be called.
OrApiError<WantedGrammar> finished(Constraint constraint, const std::string& start, std::string field,
                                   GrammarText& out) {
  if (!out.refusal().empty() && constraint == Constraint::strict_tools) return WantedGrammar();
  if (!out.refusal().empty())
    return invalid_request(cat("'", field, "': ", out.refusal()), field, "unsupported_grammar");
  out.rule("start", start);
  return WantedGrammar{constraint, out.take(), std::move(field)};
}

OrApiError<WantedGrammar> forced_calls(const Asked& asked, GrammarText& out) {
  const auto& field = asked.request.forced_call.field;
  const auto calls = tool_calls::write_calls(asked.syntax.tool_parser, callable_tools(asked.request),
                                             !asked.request.allows_several_calls, out);
  if (!calls) return no_grammar(field);
  return finished(Constraint::forced_call, after_thoughts(asked, *calls, out), field, out);
}

// An answer in the form or, if there are tools, calls.
OrApiError<WantedGrammar> form_or_calls(const Asked& asked, GrammarText& out) {
  const auto& request = asked.request;
  const auto& field = request.form.field;
  auto body = form_body(request.form, out);
  if (asked.syntax.has_channels() && !request.is_completion()) body = tool_calls::harmony_answer(body, out);
  if (request.reads_tool_calls && !request.tools_json.empty()) {
    const auto calls = tool_calls::write_calls(asked.syntax.tool_parser, callable_tools(request),
                                               !request.allows_several_calls, out);
    if (!calls) return no_grammar(field);
    body = cat(body, " | ", *calls);
  }
  return finished(Constraint::form, after_thoughts(asked, body, out), field, out);
}

// Text with calls in it; a reply in channels has its thoughts among its messages.
OrApiError<WantedGrammar> strict_calls(const Asked& asked, GrammarText& out) {
  const auto body =
      tool_calls::write_text_with_calls(asked.syntax.tool_parser, callable_tools(asked.request), out);
  if (!body) return WantedGrammar();
  const auto start = asked.syntax.has_channels() ? *body : after_thoughts(asked, *body, out);
  return finished(Constraint::strict_tools, start, "tools", out);
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
  const auto tags = reasoning_tags_of(syntax);
  if (!tags) return Thinking::may_open;   // in a channel, after any prompt
  const auto text = trim(prompt_text);
  if (ends_with(text, tags->open)) return Thinking::is_open;
  return ends_with(text, tags->close) ? Thinking::none : Thinking::may_open;
}

OrApiError<WantedGrammar> wanted_grammar(const ChatRequest& request, const ReplySyntax& syntax, Thinking thinking,
                                         const text::Tokenizer& tokenizer) {
  GrammarText out(tokenizer);
  const Asked asked{request, syntax, thinking};
  if (request.forced_call.is_forced) return forced_calls(asked, out);
  if (request.form.kind != Kind::free) return form_or_calls(asked, out);
  if (request.strict_tools.empty() || !request.reads_tool_calls) return WantedGrammar();
  return strict_calls(asked, out);
}

Result<std::shared_ptr<const text::Grammar>> ReplyGrammars::compile(const text::GrammarSource& source) {
  if (!compiler_) {
    CORISCO_TRY(compiler_, text::GrammarCompiler::create(*tokenizer_, end_ids_));
  }
  return compiler_->compile(source);
}
}  // namespace corisco::gateway
