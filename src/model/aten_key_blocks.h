// An attention plan as masks over chosen rows, in blocks of query rows that bound the masks: the form in
// which ATen's attention takes it. Internal to AtenOps.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "corisco/model/attention_plan.h"

namespace corisco::model {
// Rows of the store that a block of query rows attends to, and which row attends to which.
struct KeyBlock {
  std::int64_t first = 0, count = 0;
  at::Tensor keys;  // [U] rows of the store
  at::Tensor mask;  // [count, U] bool
};

// On the device.
std::vector<KeyBlock> make_key_blocks(const AttentionPlan& plan, std::int64_t num_rows, const at::Device& device);

// [N], on the CPU.
at::Tensor id_tensor(const std::vector<std::int64_t>& numbers);
}  // namespace corisco::model
