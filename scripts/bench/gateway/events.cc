#include "events.h"

#include "corisco/base/strings.h"

namespace corisco::bench {
namespace {
// Whether a key of that name has a text that is not empty. A parser of JSON would cost the load
// generator more than the server spends on the event.
bool has_text(std::string_view event) {
  static constexpr std::string_view kKey = "\"content\":";
  const auto key = event.find(kKey);
  if (key == std::string_view::npos) return false;
  const auto value = event.substr(key + kKey.size(), 3);
  const auto quote = value.find('"');
  return quote <= 1 && quote + 1 < value.size() && value[quote + 1] != '"';
}
}  // namespace

void Events::feed(std::string_view piece, TimePoint now) {
  while (true) {
    const auto end = piece.find('\n');
    if (end == std::string_view::npos) break;
    if (begun_.empty()) {
      line(piece.substr(0, end), now);
    } else {
      begun_.append(piece.substr(0, end));
      line(begun_, now);
      begun_.clear();
    }
    piece.remove_prefix(end + 1);
  }
  begun_.append(piece);
}

void Events::line(std::string_view line, TimePoint now) {
  if (!starts_with(line, "data:")) return;
  if (line.find("[DONE]") != std::string_view::npos) is_done_ = true;
  if (has_text(line)) token_times_.push_back(now);
}
}  // namespace corisco::bench
