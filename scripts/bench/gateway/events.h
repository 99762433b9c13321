// Reads a stream of server-sent events as it arrives and notes when each token came: an event whose
// delta has text. Keeps no event; an event may be split anywhere.
#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace corisco::bench {
using TimePoint = std::chrono::steady_clock::time_point;

class Events {
 public:
  // piece: of the body, without the transfer coding.
  void feed(std::string_view piece, TimePoint now);
  const std::vector<TimePoint>& token_times() const { return token_times_; }
  bool is_done() const { return is_done_; }   // data: [DONE] came

 private:
  void line(std::string_view line, TimePoint now);
  std::string begun_;                         // a line without its end yet
  std::vector<TimePoint> token_times_;
  bool is_done_ = false;
};
}  // namespace corisco::bench
