#include "gateway/side_calls.h"

#include <algorithm>
#include <utility>

#include "corisco/base/strings.h"

namespace corisco::gateway {
bool SideCalls::note_request(bool has_tools) {
  has_tools_ |= has_tools;
  return !has_answered_tools_;
}

std::vector<CallId> SideCalls::note_prompt(const Facts& facts, std::span<const CallId> continued,
                                           std::string_view prompt) {
  std::erase_if(early_, [continued](const auto& one) {   // a conversation of several turns
    return std::find(continued.begin(), continued.end(), one.call) != continued.end();
  });
  std::vector<CallId> side;
  if (!facts.has_tools) return side;
  for (const auto& [call, news] : std::exchange(early_, {})) {
    const bool is_used = !news.empty() && prompt.find(news) != std::string_view::npos;   // a plan
    if (!is_used) side.push_back(call);
  }
  return side;
}

bool SideCalls::is_side(const Facts& facts) const {
  return has_tools_ && !works_without_ && facts.is_early && facts.is_new && !facts.has_tools;
}

void SideCalls::note_reply(const Facts& facts, CallId call, std::string_view prompt, std::string_view reply) {
  has_answered_tools_ |= facts.has_tools;
  if (has_tools_ || works_without_ || !facts.is_new) return;
  const auto text = trim(reply);
  const bool is_news = prompt.find(text) == std::string_view::npos;
  early_.push_back({call, is_news ? std::string(text) : std::string()});
  if (early_.size() <= kEarlyMax) return;
  works_without_ = true;
  early_.clear();
}
}  // namespace corisco::gateway
