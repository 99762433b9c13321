// The sizes of a gated DeltaNet layer, and how its numbers lie. Plain numbers, without torch.
#pragma once
#include <cstdint>

namespace corisco::model {
// A key head serves `group` value heads that follow one another. A row of the projections is
//   [queries | keys | values | output gates | rates | decays]
// and each key head's state is [kernel - 1, channels] inputs of its convolution, the oldest first, then
// [group, key_dim, value_dim] of memory.
struct DeltaShape {
  std::int64_t num_key_heads = 0, num_value_heads = 0, key_dim = 0, value_dim = 0, kernel = 0;

  bool exists() const { return num_value_heads > 0; }
  std::int64_t group() const { return num_value_heads / num_key_heads; }
  std::int64_t key_width() const { return num_key_heads * key_dim; }
  std::int64_t value_width() const { return num_value_heads * value_dim; }
  // Queries, keys and values: what the convolution runs over.
  std::int64_t mixed_width() const { return 2 * key_width() + value_width(); }
  std::int64_t projected_width() const { return mixed_width() + value_width() + 2 * num_value_heads; }
  std::int64_t channels() const { return 2 * key_dim + group() * value_dim; }
  std::int64_t window_floats() const { return (kernel - 1) * channels(); }
  std::int64_t memory_floats() const { return group() * key_dim * value_dim; }
  std::int64_t state_floats() const { return window_floats() + memory_floats(); }
};
}  // namespace corisco::model
