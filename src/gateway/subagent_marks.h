// What a request says of the agent that sends it: harnesses name a sub-agent, which works in a conversation of its
// own, in their headers. Pure.
//   Claude Code   x-claude-code-agent-id
//   Codex         x-openai-subagent, as a header or in the body's client_metadata; "compact" is the main agent, who
//                 sums its history up
//   OpenCode      x-parent-session-id
// Of other harnesses nothing tells a sub-agent from the main one.
#pragma once
#include "gateway/http_head.h"
#include "gateway/json_fields.h"

namespace corisco::gateway {
bool is_from_subagent(const Head& head);
// Null: the body has none.
bool is_from_subagent(const Json* client_metadata);
}  // namespace corisco::gateway
