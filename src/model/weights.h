// The tensors of a decoder: fused where one product can do, with Hugging Face's names as views.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/model/decoder.h"
#include "model/delta_weights.h"

namespace corisco::model {
struct ExpertWeights {
  at::Tensor gate_up;  // [2 I, H]: gate, up
  at::Tensor down;     // [H, I]
};

// What a layer does not have is undefined.
struct LayerWeights {
  at::Tensor attention_norm;                           // [H]
  // [(Hq + 2 Hkv) D, H]: queries, keys, values. With a gate each query head is followed by its gate's D rows.
  at::Tensor qkv, qkv_bias;
  at::Tensor query_norm, key_norm;                     // [D]
  at::Tensor attention_output, attention_output_bias;  // [H, Hq D]
  at::Tensor delta_input;                              // [projected_width, H]
  DeltaWeights delta;
  at::Tensor delta_output;                             // [H, value_width]
  at::Tensor mlp_norm;                                 // [H]
  at::Tensor gate_up, gate_up_bias;                    // [2 I, H]: gate, up
  at::Tensor down, down_bias;                          // [H, I]
  at::Tensor router;                                   // [E, H]
  std::vector<ExpertWeights> experts;                  // [E]
  ExpertWeights stacked_experts;                       // their memory as [E, 2 I, H] and [E, H, I], or undefined
  ExpertWeights shared_expert;
  at::Tensor shared_gate;                              // [1, H]
};

struct DecoderWeights {
  at::Tensor embedding;  // [V, H]
  std::vector<LayerWeights> layers;
  at::Tensor final_norm;  // [H]
  at::Tensor head;        // [V, H]; the embedding itself when tied
};

// Uninitialised, trainable leaves on the device. Must not run under inference mode.
DecoderWeights allocate_weights(const DecoderConfig& config, at::ScalarType type, const std::string& device);

// As the optimizer sees them: fused, tied ones once.
std::vector<NamedTensor> fused_parameters(const DecoderWeights& weights);
// Views without autograd by Hugging Face name, in a checkpoint's order, tied ones once.
std::vector<NamedTensor> hugging_face_views(const DecoderConfig& config, const DecoderWeights& weights);

// The weight of every linear, the head's last.
std::vector<at::Tensor> linear_weights(const DecoderWeights& weights);

// Fills the weights from the folder's safetensors. Every missing, unexpected or misshapen tensor is
// listed in one error; nothing is filled then.
Result<void> load_weights(const std::string& folder, const DecoderConfig& config, DecoderWeights& weights);
// What the folder's files say by their tensors and not by config.json: config.tensor_prefix and stacks_experts, and a
// head of its own where the config would tie it to the embedding.
Result<void> read_naming(const std::string& folder, DecoderConfig& config);
// normal(0, 0.02), norms 1 in effect, biases 0, by seed: the same on every machine.
void randomise_weights(const DecoderConfig& config, DecoderWeights& weights, std::uint64_t seed);
DecoderWeights clone_frozen(const DecoderWeights& weights);
}  // namespace corisco::model
