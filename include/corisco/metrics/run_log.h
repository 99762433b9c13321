// The run's curves: one JSON object per line in metrics.jsonl and, if asked, TensorBoard events.
// One owner thread.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "corisco/base/result.h"

namespace corisco::metrics {
using Value = std::variant<double, std::int64_t, std::string>;
using Fields = std::vector<std::pair<std::string, Value>>;

class RunLog {
 public:
  // Appends to folder/metrics.jsonl (a new file starts with a line {"format":1,...}; a line that a
  // kill left half written is cut) and, if asked, to a new event file in folder/tensorboard/.
  static Result<std::unique_ptr<RunLog>> open(const std::string& folder, bool tensorboard);
  virtual ~RunLog() = default;
  // kind: "update" or "evaluation" or "run"; step: the policy version. Non-finite numbers are null
  // in the line and left out of the curves. What the disk does not take waits for the next line; that is logged
  // once, and once that it is over.
  virtual void write(std::string_view kind, std::uint64_t step, const Fields& fields) = 0;
};
}  // namespace corisco::metrics
