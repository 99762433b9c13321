// What a checkpoint holds: the weights as a Hugging Face folder, the optimizer's state in
// optimizer.safetensors, and the counters in state.json. Device thread.
#pragma once
#include <cstdint>
#include <string>

#include "corisco/base/result.h"
#include "corisco/config/config.h"
#include "corisco/model/decoder.h"
#include "trainer/optimizer.h"

namespace corisco::trainer {
struct TrainerState {
  std::uint64_t policy_version = 0;
  std::uint64_t num_updates = 0;  // begun and ended, skipped ones included
  std::uint64_t num_optimizer_steps = 0;
  std::string options_json;  // the trainer's part of the config
  std::string extra_json;    // the caller's
};

std::string options_json(const config::Trainer& options);

// Refuses weights that are not finite, and a disk without room.
Result<std::string> save_checkpoint(model::Decoder& decoder, const Optimizer& optimizer,
                                    const TrainerState& state, const std::string& parent,
                                    const std::string& model_folder);

struct LoadedCheckpoint {
  TrainerState state;
  std::string folder;
};
// The newest folder of at most version_max that verifies, others being skipped with a warning; weights
// and optimizer state are overwritten, bit-equal to what was saved. not_found if there is none.
Result<LoadedCheckpoint> load_newest_checkpoint(model::Decoder& decoder, Optimizer& optimizer,
                                                const std::string& parent, std::uint64_t version_max);
}  // namespace corisco::trainer
