// What a chat call writes whole: on the text thread where it is long, so that no reply holds up the others. The call
// waits meanwhile; what the other thread reads is shared with it, since the call may end before that is done.
#include "gateway/chat_call.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
// About, as JSON: an id, a token's text, and a token's log-probability with its text.
constexpr std::size_t kIdBytes = 7, kTokenTextBytes = 4, kLogprobBytes = 80;

// What each choice shows of the prompt, but for log-probabilities.
std::size_t prompt_bytes(const ChatRequest& request, std::size_t prompt_tokens) {
  return prompt_tokens *
         ((request.returns_token_ids ? kIdBytes : 0) + (request.echoes_prompt ? kTokenTextBytes : 0));
}

std::size_t text_bytes(const std::vector<ChoiceStream>& streams) {
  std::size_t bytes = 0;
  for (const auto& stream : streams) bytes += stream.text().size();
  return bytes;
}

std::string openings_of(ChatReply& wire, std::uint32_t count, const std::vector<TokenId>& prompt_ids) {
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) text += wire.opening(i, prompt_ids);
  return text;
}
}  // namespace

asio::awaitable<std::string> ChatCall::openings_text() {
  const auto count = static_cast<std::uint32_t>(choices_.size());
  const auto num_logprobs = request_.echoes_logprobs() ? request_.num_prompt_logprobs(prompt_.ids.size()) : 0;
  const auto bytes = count * prompt_bytes(request_, prompt_.ids.size()) + num_logprobs * kLogprobBytes;
  if (bytes <= TextWorker::kBytesInPlaceMax) co_return openings_of(*wire_, count, prompt_.ids);
  auto write = [wire = wire_, ids = prompt_.ids, count] { return openings_of(*wire, count, ids); };
  auto text = co_await context_.worker.run(bytes, std::move(write));
  co_return text;
}

// The Responses API's events repeat the text; the others' say only why it ended.
asio::awaitable<std::string> ChatCall::ending_text(std::uint32_t choice) {
  auto& stream = choices_[choice].stream;
  if (!request_.responses || stream.text().size() <= TextWorker::kBytesInPlaceMax)
    co_return wire_->ending(choice, stream);
  const auto bytes = stream.text().size();
  const auto lent = std::make_shared<ChoiceStream>(std::move(stream));
  auto write = [wire = wire_, choice, lent] { return wire->ending(choice, *lent); };
  auto text = co_await context_.worker.run(bytes, std::move(write));
  stream = std::move(*lent);
  co_return text;
}

asio::awaitable<std::string> ChatCall::done_text(Streams streams, Usage usage) {
  const auto bytes = request_.responses ? text_bytes(*streams) : 0;
  auto write = [wire = wire_, usage] { return wire->done(usage); };
  auto text = co_await context_.worker.run(bytes, std::move(write));
  co_return text;
}

asio::awaitable<std::string> ChatCall::whole_text(Streams streams) {
  auto bytes = text_bytes(*streams);
  bytes += streams->size() * prompt_bytes(request_, prompt_.ids.size());
  const auto token_bytes = request_.returns_logprobs ? kLogprobBytes * (1 + request_.top_logprobs) : kIdBytes;
  for (const auto& stream : *streams) bytes += stream.tokens().size() * token_bytes;
  bytes += request_.num_prompt_logprobs(prompt_.ids.size()) * kLogprobBytes;
  if (bytes <= TextWorker::kBytesInPlaceMax) co_return wire_->whole(*streams, prompt_.ids);
  auto write = [wire = wire_, streams, ids = prompt_.ids] { return wire->whole(*streams, ids); };
  auto text = co_await context_.worker.run(bytes, std::move(write));
  co_return text;
}
}  // namespace corisco::gateway
