// A small decoder for the trainer's tests, and its gradients by Hugging Face name.
#pragma once
#include <ATen/core/Tensor.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "corisco/model/decoder.h"

namespace corisco::trainer {
inline model::DecoderConfig tiny_config() {
  model::DecoderConfig config;
  config.hidden_size = 32;
  config.intermediate_size = 48;
  config.num_layers = 2;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_dim = 8;
  config.vocab_size = 64;
  config.max_position = 256;
  config.tie_embeddings = true;
  return config;
}

inline std::unique_ptr<model::Decoder> tiny_decoder(std::uint64_t seed = 3,
                                                    const std::string& dtype = "float32") {
  auto decoder = model::Decoder::random(tiny_config(), dtype, /*deterministic=*/false, seed);
  // The initial 0.02 makes attention all but uniform, and its gradients with it.
  for (auto& [name, tensor] : decoder->parameters())
    if (tensor.dim() > 1) tensor.detach().mul_(10);
  decoder->refresh_derived();
  return decoder;
}

inline std::vector<float> values_of(const at::Tensor& tensor) {
  const at::Tensor host = tensor.detach().to(at::kFloat).contiguous();
  return {host.const_data_ptr<float>(), host.const_data_ptr<float>() + host.numel()};
}

inline std::map<std::string, std::vector<float>> weights_of(model::Decoder& decoder) {
  std::map<std::string, std::vector<float>> weights;
  for (const auto& [name, tensor] : decoder.hugging_face_tensors()) weights[name] = values_of(tensor);
  return weights;
}

// The gradient of each view, read where the view lies in its fused parameter.
inline std::map<std::string, std::vector<float>> gradients_of(model::Decoder& decoder) {
  std::map<std::string, std::vector<float>> gradients;
  for (const auto& [name, view] : decoder.hugging_face_tensors())
    for (const auto& [owner, parameter] : decoder.parameters()) {
      if (!view.is_alias_of(parameter)) continue;
      const at::Tensor gradient = parameter.grad();
      gradients[name] = values_of(gradient.as_strided(view.sizes(), view.strides(),
                                                      view.storage_offset() - parameter.storage_offset()));
    }
  return gradients;
}

// |a - b| / |b| over all elements.
inline double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    size += static_cast<double>(b[i]) * b[i];
  }
  return size > 0 ? std::sqrt(apart / size) : std::sqrt(apart);
}
}  // namespace corisco::trainer
