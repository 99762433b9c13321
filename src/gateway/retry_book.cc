#include "gateway/retry_book.h"

#include <algorithm>
#include <utility>

namespace corisco::gateway {
namespace {
using Stage = Exchange::Stage;

void wake_attached(const Exchange& exchange) {
  const auto attached = exchange.attached;   // one that wakes may take itself off
  for (const auto& [number, wake] : attached) wake();
}
}  // namespace

std::size_t KeptReply::bytes() const {
  std::size_t size = prompt_ids.size() * sizeof(TokenId);
  for (const auto& choice : choices) {
    size += choice.tokens.size() * sizeof(SampledToken);
    for (const auto& alternatives : choice.top_logprobs) size += alternatives.size() * sizeof(TopLogprob);
    for (const auto& token : choice.prompt_logprobs)
      size += sizeof(PromptLogprob) + token.top.size() * sizeof(TopLogprob);
  }
  return size;
}

bool Exchange::is_left() const {
  if (stage == Stage::running) return peer != nullptr && peer->is_gone();
  return stage == Stage::failed || stage == Stage::whole;
}

Attachment::Attachment(std::shared_ptr<Exchange> exchange, std::uint64_t number, std::function<void()> wake)
    : exchange_(std::move(exchange)), number_(number) {
  exchange_->attached.emplace(number_, std::move(wake));
}

// The call may run for this retry alone, and has to learn that it need not.
Attachment::~Attachment() {
  exchange_->attached.erase(number_);
  if (exchange_->wake) exchange_->wake();
}

std::shared_ptr<Exchange> RetryBook::begin(RequestIdentity identity, const Peer& peer, std::function<void()> wake) {
  auto exchange = std::make_shared<Exchange>();
  exchange->identity = std::move(identity);
  exchange->peer = &peer;
  exchange->wake = std::move(wake);
  exchanges_.push_front(exchange);
  return exchange;
}

// A reply that arrived is remembered only if a request for more of it may come.
void RetryBook::end(const std::shared_ptr<Exchange>& exchange, Stage stage, std::shared_ptr<const KeptReply> reply) {
  exchange->stage = stage;
  exchange->peer = nullptr;
  exchange->wake = nullptr;
  exchange->reply = std::move(reply);
  if (stage == Stage::delivered && !exchange->hit_length) forget(*exchange);
  make_room();
  wake_attached(*exchange);
}

std::shared_ptr<Exchange> RetryBook::find(const RequestIdentity& identity, bool has_marks,
                                          TimePoint now) const {
  std::shared_ptr<Exchange> found;
  for (const auto& exchange : exchanges_) {
    if (exchange->stage == Stage::delivered || !(exchange->identity == identity)) continue;
    if (exchange->is_left() && exchange->attached.empty()) return exchange;
    if (has_marks && !found && now >= exchange->given_up_from) found = exchange;
  }
  return found;
}

std::shared_ptr<Exchange> RetryBook::find_cut(const RequestIdentity& identity) const {
  for (const auto& exchange : exchanges_) {
    const bool is_whole = exchange->stage == Stage::whole || exchange->stage == Stage::delivered;
    if (is_whole && exchange->hit_length && identity.allows_more_than(exchange->identity)) return exchange;
  }
  return nullptr;
}

void RetryBook::note_arrival(std::span<const CallId> calls) {
  exchanges_.remove_if([calls](const auto& exchange) {
    const bool has_arrived = std::any_of(exchange->calls.begin(), exchange->calls.end(), [calls](CallId call) {
      return std::find(calls.begin(), calls.end(), call) != calls.end();
    });
    // Under way still: of several choices only some are recorded.
    if (!has_arrived || exchange->stage == Stage::running) return false;
    exchange->stage = Stage::delivered;
    return true;
  });
}

void RetryBook::forget(const Exchange& exchange) {
  exchanges_.remove_if([&exchange](const auto& one) { return one.get() == &exchange; });
}

void RetryBook::make_room() {
  std::size_t num_ended = 0, num_replies = 0, bytes = 0;
  for (auto place = exchanges_.begin(); place != exchanges_.end();) {
    auto& exchange = **place;
    const bool is_ended = exchange.stage != Stage::running;
    if (is_ended && exchange.attached.empty() && ++num_ended > kEndedMax) {
      place = exchanges_.erase(place);
      continue;
    }
    if (exchange.reply && exchange.attached.empty()) {
      bytes += exchange.reply->bytes();
      if (++num_replies > kRepliesMax || bytes > kReplyBytesMax) exchange.reply = nullptr;
    }
    ++place;
  }
}
}  // namespace corisco::gateway
