#include <algorithm>
#include <utility>

#include "corisco/text/detokenizer.h"

namespace corisco::text {
namespace {
struct Match {
  std::size_t begin = std::string::npos;
  std::size_t end = std::string::npos;
};

// The stop string that is complete first; of those that end together, the longest.
Match first_match(const std::string& text, const std::vector<std::string>& stops) {
  Match first;
  for (const auto& stop : stops) {
    const auto begin = text.find(stop);
    if (begin == std::string::npos) continue;
    const Match match{begin, begin + stop.size()};
    if (std::pair(match.end, match.begin) < std::pair(first.end, first.begin)) first = match;
  }
  return first;
}

// Bytes at the end of `text` that are the start of a stop string.
std::size_t open_size(const std::string& text, const std::string& stop) {
  for (auto size = std::min(text.size(), stop.size() - 1); size > 0; --size)
    if (text.compare(text.size() - size, size, stop, 0, size) == 0) return size;
  return 0;
}
}  // namespace

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

StopStrings::Piece StopStrings::push(std::string_view text, bool may_stop) {
  if (is_stopped_) return {"", true, {}};
  held_ += text;
  const Match match = may_stop ? first_match(held_, stops_) : Match();
  if (match.end != std::string::npos) {
    is_stopped_ = true;
    const auto all = std::exchange(held_, {});
    return {all.substr(0, match.begin), true, all.substr(match.begin, match.end - match.begin)};
  }
  std::size_t held = 0;
  for (const auto& stop : stops_) held = std::max(held, open_size(held_, stop));
  Piece piece{held_.substr(0, held_.size() - held), false, {}};
  held_.erase(0, held_.size() - held);
  return piece;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }
}  // namespace corisco::text
