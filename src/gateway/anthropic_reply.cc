// The reply to Anthropic's messages: events of a stream, or one JSON body.
//
//   message_start, (content_block_start, content_block_delta..., content_block_stop)..., message_delta,
//   message_stop; a ping after the first block's start, and whenever a sign of life is due
#include <optional>
#include <utility>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "gateway/anthropic_messages.h"
#include "gateway/json_fields.h"

namespace corisco::gateway {
namespace {
// The event's name is the type in its data.
std::string event(const Json& value) {
  return cat("event: ", value["type"].get_ref<const std::string&>(), "\ndata: ", json_text(value), "\n\n");
}

std::string ping() { return event({{"type", "ping"}}); }

// The prompt is the sum of the first three.
Json usage_of(const Usage& usage) {
  return {{"input_tokens", usage.prompt_tokens - usage.cached_tokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", usage.cached_tokens},
          {"output_tokens", usage.completion_tokens}};
}
Json usage_of(std::size_t prompt_tokens, const ChoiceStream& ended) {
  Usage usage;
  usage.prompt_tokens = prompt_tokens;
  usage.add(ended);
  return usage_of(usage);
}

using Kind = tool_calls::Event::Kind;

Json text_block(const std::string& text) { return {{"type", "text"}, {"text", text}}; }
Json thinking_block(const std::string& text) {
  return {{"type", "thinking"}, {"thinking", text}, {"signature", ""}};
}
Json tool_block(const ReplyPart& call) {
  return {{"type", "tool_use"}, {"id", call.call_id}, {"name", call.text}, {"input", Json::object()}};
}

// In the order of the reply. A call that is not whole is left to its text.
Json content_of(const ChoiceStream& ended) {
  Json content = Json::array();
  std::string arguments;
  for (const auto& part : ended.parts()) {
    switch (part.kind) {
      case Kind::text:
        if (!content.empty() && content.back()["type"] == "text") {
          content.back()["text"] = content.back()["text"].get<std::string>() + part.text;
        } else {
          content.push_back(text_block(part.text));
        }
        break;
      case Kind::reasoning: content.push_back(thinking_block(part.text)); break;
      case Kind::call_begin:
        content.push_back(tool_block(part));
        arguments.clear();
        break;
      case Kind::arguments: arguments = part.text; break;
      case Kind::call_end:
        if (part.is_broken) content.erase(content.size() - 1);
        else content.back()["input"] = parse_ordered_json(arguments);
        break;
      case Kind::parse_error: break;
    }
  }
  if (content.empty()) content.push_back(text_block(""));
  return content;
}

// Why it ended, as two members of a message.
Json stop_of(const ChoiceStream& ended) {
  const bool is_by_string = !ended.stop_string().empty();
  const char* reason = is_by_string                             ? "stop_sequence"
                       : ended.finish() == FinishReason::length ? "max_tokens"
                       : ended.has_calls()                      ? "tool_use"
                                                                : "end_turn";
  Json stop = {{"stop_reason", reason}, {"stop_sequence", nullptr}};
  if (is_by_string) stop["stop_sequence"] = ended.stop_string();
  return stop;
}

class AnthropicReply final : public ChatReply {
 public:
  explicit AnthropicReply(ReplyOrigin origin)
      : id_(cat("msg_", origin.request_id)), model_(std::move(origin.model)) {}

  // A message is one choice.
  std::string opening(std::uint32_t choice, const std::vector<TokenId>& prompt_ids) override;
  std::string piece(std::uint32_t choice, const ChoicePiece& piece) override;
  std::string ending(std::uint32_t choice, const ChoiceStream& ended) override;
  std::string done(const Usage& usage) override;
  std::string heartbeat() override { return ping(); }
  std::string failure(const ApiError& error) override;
  std::string whole(const std::vector<ChoiceStream>& choices, const std::vector<TokenId>& prompt_ids) override;

 private:
  Json message(Json content, Json usage) const;
  std::string part(const ReplyPart& part);
  std::string open_block(Kind kind, Json empty_block);
  std::string close_block();
  std::string block_delta(const char* type, const char* field, const std::string& text) const;

  std::string id_;
  std::string model_;
  std::size_t prompt_tokens_ = 0;
  std::size_t num_blocks_ = 0;           // opened
  std::optional<Kind> open_kind_;        // of the last of them, while it is open
};

Json AnthropicReply::message(Json content, Json usage) const {
  return {{"id", id_},
          {"type", "message"},
          {"role", "assistant"},
          {"model", model_},
          {"content", std::move(content)},
          {"stop_reason", nullptr},
          {"stop_sequence", nullptr},
          {"usage", std::move(usage)}};
}

// Closes another one that is open.
std::string AnthropicReply::open_block(Kind kind, Json empty_block) {
  const auto closed = close_block();
  open_kind_ = kind;
  const bool is_first = num_blocks_ == 0;
  const auto start = event({{"type", "content_block_start"},
                            {"index", num_blocks_++},
                            {"content_block", std::move(empty_block)}});
  return closed + (is_first ? start + ping() : start);
}

std::string AnthropicReply::close_block() {
  if (!open_kind_) return {};
  const bool is_thinking = std::exchange(open_kind_, std::nullopt) == Kind::reasoning;
  const auto signature = is_thinking ? block_delta("signature_delta", "signature", "") : std::string();
  return signature + event({{"type", "content_block_stop"}, {"index", num_blocks_ - 1}});
}

std::string AnthropicReply::block_delta(const char* type, const char* field, const std::string& text) const {
  return event({{"type", "content_block_delta"},
                {"index", num_blocks_ - 1},
                {"delta", {{"type", type}, {field, text}}}});
}

std::string AnthropicReply::opening(std::uint32_t, const std::vector<TokenId>& prompt_ids) {
  prompt_tokens_ = prompt_ids.size();
  Usage at_start;                        // what is cached shows with the first token: message_delta tells
  at_start.prompt_tokens = prompt_tokens_;
  return event({{"type", "message_start"}, {"message", message(Json::array(), usage_of(at_start))}});
}

std::string AnthropicReply::piece(std::uint32_t, const ChoicePiece& piece) {
  std::string events;
  for (const auto& one : piece.parts) events += part(one);
  return events;
}

// A broken call shows as far as it came, and its text is not repeated.
std::string AnthropicReply::part(const ReplyPart& part) {
  std::string start;
  switch (part.kind) {
    case Kind::text:
      if (part.is_broken) return {};
      if (open_kind_ != Kind::text) start = open_block(Kind::text, text_block(""));
      return start + block_delta("text_delta", "text", part.text);
    case Kind::reasoning:
      if (open_kind_ != Kind::reasoning) start = open_block(Kind::reasoning, thinking_block(""));
      return start + block_delta("thinking_delta", "thinking", part.text);
    case Kind::call_begin: return open_block(Kind::call_begin, tool_block(part));
    case Kind::arguments: return block_delta("input_json_delta", "partial_json", part.text);
    case Kind::call_end: return close_block();
    case Kind::parse_error: break;
  }
  return {};
}

// An empty reply has a block too: simple clients look at the first one unasked.
std::string AnthropicReply::ending(std::uint32_t, const ChoiceStream& ended) {
  std::string events = num_blocks_ == 0 ? open_block(Kind::text, text_block("")) : std::string();
  events += close_block();
  return events + event({{"type", "message_delta"},
                         {"delta", stop_of(ended)},
                         {"usage", usage_of(prompt_tokens_, ended)}});
}

std::string AnthropicReply::done(const Usage&) { return event({{"type", "message_stop"}}); }

std::string AnthropicReply::failure(const ApiError& error) {
  return cat("event: error\ndata: ", to_json(error, ErrorShape::anthropic), "\n\n");
}

std::string AnthropicReply::whole(const std::vector<ChoiceStream>& choices,
                                  const std::vector<TokenId>& prompt_ids) {
  const auto& ended = choices.front();
  auto reply = message(content_of(ended), usage_of(prompt_ids.size(), ended));
  reply.update(stop_of(ended));
  return json_text(reply);
}
}  // namespace

std::unique_ptr<ChatReply> AnthropicMessages::start_reply(ReplyOrigin origin, const ChatRequest&) const {
  return std::make_unique<AnthropicReply>(std::move(origin));
}

// Claude Code reads both numbers; a prompt must leave room for one token at least.
ApiError AnthropicMessages::context_overflow(std::size_t prompt_tokens, std::uint32_t context_tokens_max) const {
  const auto prompt_tokens_max = context_tokens_max > 0 ? context_tokens_max - 1 : 0;
  return invalid_request(cat("prompt is too long: ", prompt_tokens, " tokens > ", prompt_tokens_max, " maximum"),
                         "messages", kContextOverflow);
}
}  // namespace corisco::gateway
