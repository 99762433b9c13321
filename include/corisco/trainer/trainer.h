// Turns groups into one published update of the decoder's weights, in slices.
// Lives on the device thread. Gradients only read weights; only publish() writes them.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "corisco/base/result.h"
#include "corisco/config/config.h"
#include "corisco/types/sample.h"

namespace corisco::model {
class Decoder;
}

namespace corisco::trainer {
class Trainer {
 public:
  // num_updates: the schedule's length. Takes the frozen copy now if the KL term is on.
  static Result<std::unique_ptr<Trainer>> create(model::Decoder& decoder, const config::Trainer& options,
                                                 std::uint32_t num_updates);
  virtual ~Trainer() = default;

  // Advantages, token weights and packing of the whole batch; nothing is forwarded yet.
  virtual void begin(TrainBatch batch, PolicyVersion current) = 0;
  // One micro-batch (a no-grad pass of old log-probabilities, or a forward and backward, or an
  // optimizer step between epochs). False when publish() is next.
  virtual bool advance() = 0;
  virtual double progress() const = 0;  // 0..1 of the micro-batches
  // Finite check, clipping, AdamW in place, version + 1. A non-finite gradient leaves the weights
  // as they were, with was_skipped set and the version unchanged.
  virtual UpdateReport publish() = 0;
  virtual void discard() = 0;  // an unfinished update, at shutdown

  virtual PolicyVersion version() const = 0;
  // Weights (as a Hugging Face folder), optimizer state and counters; written aside, synced,
  // renamed to folder/step-NNNNNN, verified on load. extra_json: what the caller wants back.
  // Returns the folder that was written.
  virtual Result<std::string> save(const std::string& folder, const std::string& model_folder,
                                   const std::string& extra_json) = 0;
  // Loads the newest whole checkpoint below folder; not_found if there is none.
  struct Restored {
    PolicyVersion version;
    std::uint64_t num_updates = 0;     // so far, skipped ones included
    std::string folder;
    std::string extra_json;
  };
  virtual Result<Restored> restore(const std::string& folder) = 0;
  // The same of those at most this version. Reads only: the folder is another process's.
  virtual Result<Restored> restore_up_to(const std::string& folder, PolicyVersion version) = 0;
  // Where the schedule stands, if updates were skipped after the checkpoint.
  virtual void set_num_updates(std::uint64_t num_updates) = 0;
};
}  // namespace corisco::trainer
