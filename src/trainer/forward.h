// A micro-batch through a decoder: the log-probabilities of its trained tokens.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "trainer/packing.h"

namespace corisco::trainer {
// On the autograd graph if grad mode is on. Only hidden rows that predict a trained token go
// through the vocabulary. num_rerouted: null, or as the pass's.
at::Tensor trained_logprobs(model::Decoder& decoder, const MicroBatch& batch,
                            std::uint64_t* num_rerouted = nullptr);  // [N] float32

std::vector<double> to_doubles(const at::Tensor& values);  // [N], from any device
at::Tensor to_tensor(const std::vector<double>& values, const at::Tensor& like);
}  // namespace corisco::trainer
