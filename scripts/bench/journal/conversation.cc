#include "conversation.h"

#include <string>
#include <vector>

#include "corisco/base/random.h"

namespace corisco::bench {
namespace {
constexpr std::size_t kBytesPerToken = 4;
constexpr std::uint64_t kVocabulary = 150000;
}  // namespace

Call Conversation::next() {
  Call call;
  const auto random = [&](std::uint64_t i) { return hash_words({rollout_, num_calls_, i}); };
  call.id = CallId{rollout_ * 1000000 + num_calls_};
  call.attempt = attempt();
  call.turn = num_calls_;
  std::vector<TokenId> reply;
  for (const auto& token : last_.tokens) reply.push_back(token.id);
  std::vector<TokenId> more;
  for (std::uint64_t i = 0; i < kNewPromptTokens; ++i) more.push_back(static_cast<TokenId>(random(i) % kVocabulary));
  const auto before = SharedPrefix<TokenId>::extend(last_.prompt_ids, last_.prompt_ids.size(), std::move(reply));
  call.prompt_ids = SharedPrefix<TokenId>::extend(before, before.size(), std::move(more));
  call.request_json = SharedPrefix<char>::extend(last_.request_json, last_.request_json.size(),
                                                 std::string(kBytesPerToken * (kNewPromptTokens + kReplyTokens), 'm'));
  for (std::uint64_t i = 0; i < kReplyTokens; ++i) {
    const float logprob = -static_cast<float>(random(10000 + i) % 1000) / 300;
    call.tokens.push_back({static_cast<TokenId>(random(20000 + i) % kVocabulary), logprob, logprob, PolicyVersion{7}});
  }
  call.reply_text = std::string(kBytesPerToken * kReplyTokens, 'r');
  if (num_calls_ > 0) {
    call.base = last_.id;
    call.base_tokens = static_cast<std::uint32_t>(before.size());
    call.base_request_bytes = static_cast<std::uint32_t>(last_.request_json.size());
  }
  ++num_calls_;
  return last_ = call;
}
}  // namespace corisco::bench
