#include "gateway/wire_format.h"

#include "gateway/anthropic_messages.h"
#include "gateway/openai_chat.h"
#include "gateway/openai_completions.h"
#include "gateway/openai_responses.h"
#include "gateway/sglang_generate.h"
#include "gateway/vllm_generate.h"

namespace corisco::gateway {
const WireFormat* wire_format_of(RouteKind kind) {
  static const OpenAiChat openai_chat;
  static const OpenAiCompletions openai_completions;
  static const OpenAiResponses openai_responses;
  static const AnthropicMessages anthropic_messages;
  static const VllmGenerate vllm_generate;
  static const SglangGenerate sglang_generate;
  switch (kind) {
    case RouteKind::chat_completions: return &openai_chat;
    case RouteKind::completions: return &openai_completions;
    case RouteKind::responses: return &openai_responses;
    case RouteKind::messages: return &anthropic_messages;
    case RouteKind::vllm_generate: return &vllm_generate;
    case RouteKind::sglang_generate: return &sglang_generate;
    default: return nullptr;
  }
}

ErrorShape error_shape_of(RouteKind kind) {
  if (is_lightning_route(kind)) return ErrorShape::agent_lightning;
  const bool is_anthropics = kind == RouteKind::messages || kind == RouteKind::count_tokens;
  return is_anthropics ? ErrorShape::anthropic : ErrorShape::openai;
}
}  // namespace corisco::gateway
