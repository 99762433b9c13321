// What serves the model: the gateway's Generator and the coordinator's Device in one, and what the
// daemon shows of it. Called on the io thread, except where a method says any thread.
#pragma once
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "corisco/base/handover_queue.h"
#include "corisco/base/strings.h"
#include "corisco/config/config.h"
#include "corisco/coordinator/device.h"
#include "corisco/gateway/ports.h"
#include "corisco/metrics/registry.h"
#include "corisco/text/tokenizer.h"

namespace corisco::app {
struct DeviceOptions {
  const config::Config* config = nullptr;
  boost::asio::io_context* io = nullptr;
  metrics::Registry* metrics = nullptr;
  std::shared_ptr<const text::Tokenizer> tokenizer;   // for stop strings
  HandoverQueue<Group>* groups = nullptr;             // whole groups, pushed by the io thread
  std::string checkpoint_folder;
  bool restore = false;                               // continue from the newest checkpoint there
  bool has_trainer = false;
  std::function<Result<void>()> before_save;          // device thread: a checkpoint is written if this is ok
  std::function<void(bool is_suspended)> on_suspended;  // io thread: decoding stops, or goes on
};

// What is known once the model is loaded.
struct DeviceFacts {
  std::string capability;                // "avx2, 2 threads, float32"
  std::vector<TokenId> end_ids;
  std::uint32_t context_tokens_max = 0;
  std::int64_t num_parameters = 0;
  double seconds_per_token = 0;          // of a forward pass; measured when there is a trainer
  PolicyVersion version;                 // of the restored checkpoint, else 0
  bool has_checkpoint = false;           // restored from one, not from the initial weights
  std::uint64_t num_updates = 0;         // that the checkpoint counts, skipped ones included
  std::string restored_from;
  std::string restored_extra_json;
};

// Sequences that run and wait together.
inline std::size_t sequences_max(const config::Engine& engine) {
  return std::size_t{engine.sequences_max} + engine.queue_max;
}
inline Error queue_is_full(const config::Engine& engine) {
  return {Code::overloaded, cat("the engine's queue is full (engine.queue_max ", engine.queue_max, ")")};
}

struct ModelDevice : gateway::Generator, coordinator::Device {
  // Loads what it serves, and waits for that.
  virtual Result<DeviceFacts> start() = 0;
  // Updates so far, for the schedule, where a run resumes: a skipped one needs no checkpoint.
  virtual void set_num_updates(std::uint64_t num_updates) = 0;
  // What the next checkpoint keeps beside the weights. Any thread.
  virtual void set_checkpoint_extra(std::string json) = 0;
  // Its progress.
  virtual bool has_live_sequences() const = 0;
  virtual std::uint64_t num_steps() const = 0;
  virtual std::uint64_t num_sampled_tokens() const = 0;
  virtual double train_progress() const = 0;
};
}  // namespace corisco::app
