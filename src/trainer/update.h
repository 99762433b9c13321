// One update in progress: its rows, micro-batches, slices and what has been measured so far.
// Owned by the trainer on the device thread, from begin() to publish() or discard().
#pragma once
#include <cstdint>
#include <vector>

#include "corisco/config/config.h"
#include "trainer/assemble.h"
#include "trainer/packing.h"
#include "trainer/tally.h"

namespace corisco::trainer {
// What one call of advance() does.
struct Slice {
  enum class Kind : std::uint8_t {
    measure_old,  // log-probabilities under the weights before the update, without gradients
    learn,        // forward, loss, backward
    step,         // the optimizer's step that ends an epoch before the last
  };
  Kind kind = Kind::learn;
  std::size_t micro_batch = 0;  // not of step
  bool is_first_epoch = true;
};

struct Update {
  Assembly assembly;
  std::vector<MicroBatch> micro_batches;
  std::vector<Slice> slices;
  std::size_t next_slice = 0;
  LossOptions loss_options;
  std::vector<double> old_logprobs, reference_logprobs;  // of assembly.tokens
  Tally tally;
  // Experts that a pass over all micro-batches replays, and those of them that the router, under the weights
  // before the update, would not have chosen.
  std::uint64_t num_replayed_experts = 0, num_rerouted = 0;
  bool is_spoiled = false;  // a step between epochs met a gradient that was not finite

  bool is_done() const { return is_spoiled || next_slice == slices.size(); }
};

// If a token is older than the current weights, or there are several epochs, log-probabilities
// under the current weights are measured first and the loss corrects for the weights that sampled
// the tokens; otherwise the sampled log-probabilities are those of the current weights.
Update plan_update(TrainBatch batch, PolicyVersion current, const config::Trainer& options);
}  // namespace corisco::trainer
