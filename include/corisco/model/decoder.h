// One decoder definition, used to sample and to train, on the same tensors.
// Lives on one device thread; no locks. The weights are normal tensors (never made in inference mode).
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/config/config.h"
#include "corisco/model/attention_plan.h"
#include "corisco/model/config.h"
#include "corisco/model/runtime.h"

namespace corisco::model {
// Keys and values of past tokens, per layer with attention [rows, Hkv, D], in the model's dtype; and the
// states of recurrent layers, one slot for each sequence or kept state: per such layer [slots, ..] float32.
struct KvStore {
  std::vector<at::Tensor> keys, values, states;
  void copy_state(std::int64_t from, std::int64_t to) const;
};

struct ForwardInput {
  std::vector<std::int64_t> token_ids;  // [T]
  std::vector<std::int64_t> positions;  // [T] from 0
  AttentionPlan attention;
  // Sampling: the cache and the row where each token's key and value go. Training: null and
  // empty; spans then index the rows of this very pass.
  KvStore* cache = nullptr;
  std::vector<std::int64_t> slots;      // [T]
  // Sampling with recurrent layers: the slot of the state of each token's sequence, whose tokens of this pass
  // stand together. The state is that of the tokens before; at position 0 there is none. Otherwise empty.
  std::vector<std::int64_t> states;     // [T]
  // Routing replay: the experts of each token in each layer that has some, as an earlier pass used
  // them; their weights still come from the router, and its gradients with them. A token of a layer
  // whose first entry is kRouterChooses is left to the router. Empty: every token is.
  std::vector<ExpertId> replayed_experts;  // [T, expert layers, experts per token]
  // Null, or where hidden() leaves the experts that it used, in the same shape.
  std::vector<ExpertId>* used_experts = nullptr;
  // Null, or what hidden() adds the number of replayed experts to that the router would not have chosen.
  std::uint64_t* num_rerouted = nullptr;
};

struct NamedTensor {
  std::string name;                     // as in Hugging Face checkpoints
  at::Tensor tensor;                    // fused parameters appear as views of their parts
};

class Decoder {
 public:
  // Every missing, unexpected or misshapen tensor is listed in one error.
  static Result<std::unique_ptr<Decoder>> load(const std::string& folder,
                                               const config::Model& options, bool deterministic);
  // Random weights, for tests: normal(0, 0.02), norms 1, from the seed.
  static std::unique_ptr<Decoder> random(const DecoderConfig& config, const std::string& dtype,
                                         bool deterministic, std::uint64_t seed);
  virtual ~Decoder() = default;

  // The final norm's output. With grad mode on and cache null it records autograd, whose backward
  // adds to grad() of the parameters (of leaves in place: no second copy of the gradients exists).
  virtual at::Tensor hidden(const ForwardInput& input) = 0;        // [T, H]
  // Called after each layer of a pass without a cache, and before each layer of its backward, on
  // the device thread: a chance to look at other work. A std::exception that it throws ends
  // the pass.
  virtual void set_between_layers(std::function<void()> call) = 0;
  // Logits of these rows, float32.
  virtual at::Tensor logits(const at::Tensor& hidden) = 0;         // [N, V]
  // log softmax(logits(hidden) / temperature)[target], float32, differentiable, in chunks that
  // never hold more than chunk_rows x V; the same arithmetic per row as token_logprob().
  virtual at::Tensor selected_logprobs(const at::Tensor& hidden,   // [N, H]
                                       const std::vector<std::int64_t>& targets,  // [N]
                                       float temperature) = 0;     // [N]

  virtual const DecoderConfig& config() const = 0;
  // Trainable leaf tensors as the optimizer sees them (fused where the model fuses).
  virtual std::vector<NamedTensor> parameters() = 0;
  // Views by Hugging Face name, in the checkpoint's order; tied tensors once.
  virtual std::vector<NamedTensor> hugging_face_tensors() = 0;
  // num_states: slots for the states of recurrent layers; a decoder without such layers has none.
  virtual KvStore make_kv_store(std::int64_t rows, std::int64_t num_states = 0) const = 0;
  // Bytes of one token's keys and values over all layers.
  virtual std::int64_t kv_bytes_per_token() const = 0;
  // Bytes of one sequence's state over all recurrent layers; 0: there are none.
  virtual std::int64_t state_bytes() const { return 0; }
  // After every in-place write of the weights: rebuilds derived copies, stamps the version.
  virtual void refresh_derived() = 0;
  // A deep copy of the weights now, not trainable: the reference of the KL term.
  virtual std::unique_ptr<Decoder> frozen_copy() = 0;
};

// Writes the weights under the names and into the files that source_folder has them in, and copies its
// config, tokenizer and template files, so that transformers loads the folder.
// Written into folder, which must exist; the caller makes it atomic.
Result<void> export_hugging_face(Decoder& decoder, const std::string& source_folder,
                                 const std::string& folder);

bool cpu_has_native_bfloat16();
}  // namespace corisco::model
