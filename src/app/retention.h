// samples.retention_days: once a day, what is older is removed from the run's journal. Owned by the io
// thread, which it never blocks: the journal rewrites itself on a thread of its own.
#pragma once
#include <cstdint>
#include <string>

#include "corisco/base/clock.h"
#include "corisco/samples/journal.h"

namespace corisco::app {
class DailyRemoval {
 public:
  // days 0: never.
  DailyRemoval(samples::Journal& journal, std::string checkpoint_folder, std::uint32_t days, const Clock& clock)
      : journal_(journal), checkpoint_folder_(std::move(checkpoint_folder)), days_(days), clock_(clock) {}
  // Called often; begins at the first call, and a day after it began last.
  void tick();

 private:
  samples::Journal& journal_;
  const std::string checkpoint_folder_;
  const std::uint32_t days_;
  const Clock& clock_;
  TimePoint next_{};                     // the first one is due
};

// The lowest version of the checkpoints in the folder: no resume goes back further. 0 without any.
PolicyVersion oldest_checkpoint(const std::string& folder);
}  // namespace corisco::app
