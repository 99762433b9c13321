#include "gateway/tool_calls/harmony_grammar.h"

#include "corisco/base/strings.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr const char* kEnd = "<|end|>";
constexpr const char* kNextHead = "<|start|>assistant";

// What else ends a message, spelt out or not.
GrammarText::Texts other_ends() { return {"<|call|>", "<|return|>", "<|start|>", "<|channel|>"}; }

std::string message(const std::string& head, GrammarText& out) {
  return cat(head, " ", out.up_to(kEnd, other_ends()), " ", out.written(kNextHead));
}
}  // namespace

// The recipient stands behind the channel, as the model writes it, or before it, as its template does.
std::string harmony_call(const std::vector<CallableTool>& tools, GrammarText& out) {
  out.rule("call_type", cat("(", out.written("<|constrain|>"), ")? ", out.written("json<|message|>")));
  // In two literals, as in the heads of other messages: of texts that may stand in one place the longer one
  // is followed, and never left for the shorter.
  const auto channel = cat(out.written("<|channel|>"), " ", out.literal("commentary"));
  const auto space = out.literal(" ");
  GrammarText::Texts calls;
  for (const auto& tool : tools) {
    const auto recipient = cat(out.literal(" to=functions."), " ", out.literal(tool.name));
    const auto heads = out.choice({cat(channel, " ", recipient, " ", space), cat(recipient, " ", channel, " ", space)});
    calls.push_back(cat(heads, " call_type ", json_arguments(tool, out)));
  }
  return out.choice(calls);
}

std::string harmony_thoughts(GrammarText& out) {
  return message(out.written("<|channel|>analysis<|message|>"), out);
}

std::string harmony_answer(const std::string& body, const GrammarText& out) {
  return cat(out.written("<|channel|>final<|message|>"), " (", body, ")");
}

std::string harmony_text_with_calls(const std::vector<CallableTool>& tools, GrammarText& out) {
  const auto channels = out.choice({out.literal("analysis"), out.literal("commentary"), out.literal("final")});
  out.rule("head", cat(out.written("<|channel|>"), " ", channels, " ", out.written("<|message|>")));
  auto ends = other_ends();
  ends.emplace_back(kEnd);
  out.rule("call", harmony_call(tools, out));
  return cat("(", message("head", out), ")* (head ", out.without(ends), " | call)");
}
}  // namespace corisco::gateway::tool_calls
