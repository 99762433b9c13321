#include "gateway/subagent_marks.h"

namespace corisco::gateway {
namespace {
constexpr const char* kCodexMark = "x-openai-subagent";

bool names_one(const std::string& codex_mark) { return !codex_mark.empty() && codex_mark != "compact"; }
}  // namespace

bool is_from_subagent(const Head& head) {
  for (const char* name : {"x-claude-code-agent-id", "x-parent-session-id"})
    if (const auto* value = head.field(name); value != nullptr && !value->empty()) return true;
  const auto* value = head.field(kCodexMark);
  return value != nullptr && names_one(*value);
}

bool is_from_subagent(const Json* client_metadata) {
  if (client_metadata == nullptr || !client_metadata->is_object()) return false;
  const auto* value = JsonFields(*client_metadata).find(kCodexMark);
  return value != nullptr && value->is_string() && names_one(value->get<std::string>());
}
}  // namespace corisco::gateway
