// A checkpoint that a device has written, and who is told of it.
#pragma once
#include <functional>
#include <string>

#include "corisco/base/id.h"
#include "corisco/base/result.h"

namespace corisco::coordinator {
struct Checkpoint {
  PolicyVersion version;
  std::string folder;
  bool was_there = false;                // before it was asked for
};
using OnCheckpoint = std::function<void(const Result<Checkpoint>&)>;
}  // namespace corisco::coordinator
