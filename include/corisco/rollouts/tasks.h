// The dataset: JSON lines, one task a line, in an order drawn anew for each pass.
// Immutable after loading but for a cached order: one thread at a time.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "corisco/base/result.h"

namespace corisco::rollouts {
struct Task {
  std::string id;                                  // the field "id", else the line number from 1
  std::string json;                                // the line, one JSON object
};

// A task from one JSON object; id_without is its id if it has no field "id". The error says what
// is wrong with it, without a place.
Result<Task> parse_task(std::string json, std::string id_without);

class Tasks {
 public:
  // The error names the file, the line and what is wrong with it.
  static Result<Tasks> load(const std::string& path, bool shuffle, std::uint64_t seed);
  static Tasks of(std::vector<Task> tasks, bool shuffle, std::uint64_t seed);
  std::size_t size() const { return tasks_.size(); }
  // The task of the n-th draw of the run, n from 0: a pure function, so a cursor is one number.
  const Task& at(std::uint64_t occurrence) const;
  const std::vector<Task>& all() const { return tasks_; }
  const std::string& sha256() const { return sha256_; }  // of the file

 private:
  std::vector<Task> tasks_;
  bool shuffle_ = true;
  std::uint64_t seed_ = 0;
  std::string sha256_;
  mutable std::uint64_t order_pass_ = 0;
  mutable std::vector<std::uint32_t> order_;       // of order_pass_; empty: not drawn yet
};
}  // namespace corisco::rollouts
