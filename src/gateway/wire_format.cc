#include "gateway/wire_format.h"

#include "gateway/anthropic_messages.h"
#include "gateway/openai_chat.h"

namespace corisco::gateway {
const WireFormat* wire_format_of(RouteKind kind) {
  static const OpenAiChat openai_chat;
  static const AnthropicMessages anthropic_messages;
  switch (kind) {
    case RouteKind::chat_completions: return &openai_chat;
    case RouteKind::messages: return &anthropic_messages;
    default: return nullptr;
  }
}

ErrorShape error_shape_of(RouteKind kind) {
  const bool is_anthropics = kind == RouteKind::messages || kind == RouteKind::count_tokens;
  return is_anthropics ? ErrorShape::anthropic : ErrorShape::openai;
}
}  // namespace corisco::gateway
