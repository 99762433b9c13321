// Curves in TensorBoard's event format: length-framed, checksummed protobuf messages, of which
// only the few fields that a scalar curve needs are written.
// One owner thread. A torn last record is what a kill leaves, and readers tolerate it.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "corisco/base/result.h"
#include "metrics/appended_file.h"

namespace corisco::metrics {
using Scalars = std::vector<std::pair<std::string, float>>;

// The bytes of one record: [u64 length][u32 masked crc32c of it][payload][u32 masked crc32c].
std::string event_record(const std::string& payload);
// The protobuf messages: Event{wall_time, file_version} and Event{wall_time, step, summary}.
std::string version_event(double unix_seconds);
std::string scalar_event(double unix_seconds, std::uint64_t step, const Scalars& scalars);

class EventFile {
 public:
  // A new file in folder, which is made if needed. Never appends to an old one.
  static Result<EventFile> create(const std::string& folder, double unix_seconds);
  // If the file does not take it, it waits for the next one, as AppendedFile says.
  Result<void> add(double unix_seconds, std::uint64_t step, const Scalars& scalars);

 private:
  explicit EventFile(AppendedFile out) : out_(std::move(out)) {}
  AppendedFile out_;
};
}  // namespace corisco::metrics
