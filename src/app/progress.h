// What a person sees of a run: one line per update, a bar under it on a terminal.
// Owned by the io thread.
#pragma once
#include <cstdint>
#include <string>

#include "corisco/coordinator/coordinator.h"
#include "corisco/metrics/run_log.h"
#include "corisco/types/sample.h"

namespace corisco::app {
// One update as metrics.jsonl keeps it and as the line shows it.
struct UpdateLine {
  std::uint64_t update = 0, updates = 0;
  UpdateReport report;
  coordinator::PhaseSeconds seconds;
  double tokens_per_second = 0;          // sampled tokens over the update's whole time
  double seconds_left = 0;
};
std::string to_text(const UpdateLine& line);
metrics::Fields to_fields(const UpdateLine& line);
std::string duration_text(double seconds);  // "4 min 05 s"

class Progress {
 public:
  explicit Progress(std::uint64_t updates);
  // Fills in the estimate and prints the line.
  UpdateLine update_done(std::uint64_t update, const UpdateReport& report,
                         const coordinator::PhaseSeconds& seconds, std::uint64_t sampled_tokens);
  void leave_out(std::uint64_t sampled_tokens) { sampled_before_ += sampled_tokens; }  // an evaluation's
  // Redraws the bar; does nothing unless standard output is a terminal.
  void draw(std::uint64_t updates_done, const char* phase, double fraction);
  void print(const std::string& line);   // a line of its own, above the bar

 private:
  void clear_bar();
  const std::uint64_t updates_;
  const bool is_terminal_;
  bool has_bar_ = false;
  double seconds_per_update_ = 0;        // moving average
  std::uint64_t sampled_before_ = 0;
};
}  // namespace corisco::app
