// What the whole daemon is doing. An enumerator's name is its name in logs, metrics and /admin/state.
#pragma once
#include <cstdint>

namespace corisco::coordinator {
enum class Phase : std::uint8_t {
  starting,
  generating,   // rollouts run, requests are served
  draining,     // new requests wait at the gate, running ones finish
  training,     // micro-batches, in slices
  publishing,   // the optimizer writes the weights; version + 1
  stopping,
  failed,
};
const char* to_string(Phase phase);
bool can_move(Phase from, Phase to);
}  // namespace corisco::coordinator
