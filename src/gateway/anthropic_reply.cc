// The reply to Anthropic's messages: events of a stream, or one JSON body.
//
//   message_start, (content_block_start, content_block_delta..., content_block_stop)..., message_delta,
//   message_stop; a ping after the first block's start, and whenever a sign of life is due
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

Json usage_of(const Usage& usage) {
  return {{"input_tokens", usage.prompt_tokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", 0},
          {"output_tokens", usage.completion_tokens}};
}

Json text_block(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

// Why it ended, as two members of a message.
Json stop_of(const ChoiceStream& ended) {
  const bool is_by_string = !ended.stop_string().empty();
  const char* reason = is_by_string                             ? "stop_sequence"
                       : ended.finish() == FinishReason::length ? "max_tokens"
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
  std::string heartbeat() const override { return ping(); }
  std::string whole(const std::vector<ChoiceStream>& choices, const std::vector<TokenId>& prompt_ids) override;

 private:
  Json message(Json content, const Usage& usage) const;
  std::string open_block(Json empty_block);
  std::string close_block();

  std::string id_;
  std::string model_;
  std::size_t prompt_tokens_ = 0;
  std::size_t num_blocks_ = 0;           // opened
  bool is_block_open_ = false;           // the last of them
};

Json AnthropicReply::message(Json content, const Usage& usage) const {
  return {{"id", id_},
          {"type", "message"},
          {"role", "assistant"},
          {"model", model_},
          {"content", std::move(content)},
          {"stop_reason", nullptr},
          {"stop_sequence", nullptr},
          {"usage", usage_of(usage)}};
}

std::string AnthropicReply::open_block(Json empty_block) {
  is_block_open_ = true;
  const bool is_first = num_blocks_ == 0;
  const auto start = event({{"type", "content_block_start"},
                            {"index", num_blocks_++},
                            {"content_block", std::move(empty_block)}});
  return is_first ? start + ping() : start;
}

std::string AnthropicReply::close_block() {
  is_block_open_ = false;
  return event({{"type", "content_block_stop"}, {"index", num_blocks_ - 1}});
}

std::string AnthropicReply::opening(std::uint32_t, const std::vector<TokenId>& prompt_ids) {
  prompt_tokens_ = prompt_ids.size();
  return event({{"type", "message_start"}, {"message", message(Json::array(), {prompt_tokens_, 0})}});
}

std::string AnthropicReply::piece(std::uint32_t, const ChoicePiece& piece) {
  if (piece.text.empty()) return {};
  const auto start = is_block_open_ ? std::string() : open_block(text_block(""));
  const Json delta = {{"type", "text_delta"}, {"text", piece.text}};
  return start + event({{"type", "content_block_delta"}, {"index", num_blocks_ - 1}, {"delta", delta}});
}

// An empty reply has a block too: simple clients look at the first one unasked.
std::string AnthropicReply::ending(std::uint32_t, const ChoiceStream& ended) {
  std::string events = num_blocks_ == 0 ? open_block(text_block("")) : std::string();
  if (is_block_open_) events += close_block();
  return events + event({{"type", "message_delta"},
                         {"delta", stop_of(ended)},
                         {"usage", usage_of({prompt_tokens_, ended.tokens().size()})}});
}

std::string AnthropicReply::done(const Usage&) { return event({{"type", "message_stop"}}); }

std::string AnthropicReply::whole(const std::vector<ChoiceStream>& choices,
                                  const std::vector<TokenId>& prompt_ids) {
  const auto& ended = choices.front();
  auto reply = message(Json::array({text_block(ended.text())}), {prompt_ids.size(), ended.tokens().size()});
  reply.update(stop_of(ended));
  return json_text(reply);
}
}  // namespace

std::unique_ptr<ChatReply> AnthropicMessages::start_reply(ReplyOrigin origin, const ChatRequest&) const {
  return std::make_unique<AnthropicReply>(std::move(origin));
}

std::string AnthropicMessages::failure(const ApiError& error) const {
  return cat("event: error\ndata: ", to_json(error, ErrorShape::anthropic), "\n\n");
}

// Claude Code reads both numbers; a prompt must leave room for one token at least.
ApiError AnthropicMessages::context_overflow(std::size_t prompt_tokens, std::uint32_t context_tokens_max) const {
  const auto prompt_tokens_max = context_tokens_max > 0 ? context_tokens_max - 1 : 0;
  return invalid_request(cat("prompt is too long: ", prompt_tokens, " tokens > ", prompt_tokens_max, " maximum"),
                         "messages", kContextOverflow);
}
}  // namespace corisco::gateway
