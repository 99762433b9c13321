// What the coordinator asks of a device (or of many behind one front): it decides, the device's
// own thread executes and acknowledges. Every acknowledgement comes on the io thread, once.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/types/sample.h"

namespace corisco::coordinator {
struct Device {
  // Acknowledges with an empty set of live sequences: those that still run are stopped at a token
  // boundary, kept, and go on after the next resume.
  virtual void quiesce(std::function<void()> drained) = 0;
  // Trains on these groups, which were handed over before, in slices of at most a second.
  // Acknowledges when the gradient is complete and publish may follow.
  virtual void train(std::vector<GroupId> groups, std::function<void()> trained) = 0;
  // The optimizer's write; version + 1 unless the report says that it was skipped.
  virtual void publish(std::function<void(UpdateReport)> published) = 0;
  // Decoding may go on.
  virtual void resume() = 0;
  // Writes a checkpoint of the published weights; the folder it is in.
  virtual void save(std::function<void(Result<std::string>)> saved) = 0;
  virtual ~Device() = default;
};
}  // namespace corisco::coordinator
