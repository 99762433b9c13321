// One key head of a gated DeltaNet layer with the value heads that share it, one row at a time: convolution,
// normalised queries and keys, the gated delta rule, the gated norm of the output. The recurrent form alone:
// a row's numbers depend on the state before it and on the row, in sampling and in training alike.
// float32, serial; knows neither torch nor threads.
#pragma once
#include <cstdint>
#include <vector>

#include "corisco/model/delta_shape.h"
#include "model/kernels/table.h"

namespace corisco::model {
// Of a whole layer.
struct DeltaParameters {
  const float* conv = nullptr;     // [mixed_width, kernel]
  const float* a_log = nullptr;    // [num_value_heads]
  const float* dt_bias = nullptr;  // [num_value_heads]
  const float* norm = nullptr;     // [value_dim]
};
struct DeltaParameterGradients {
  float *conv = nullptr, *a_log = nullptr, *dt_bias = nullptr, *norm = nullptr;  // added to
};

// What a row leaves for its gradient, in memory of memo_floats() numbers.
struct DeltaMemo {
  float* inputs;       // [kernel, channels] of the convolution, the row's own last
  float* convolved;    // [channels] before the activation
  float* mixed;        // [channels]: query, key, values as the rule takes them
  float* lengths;      // [2]: 1 / length of query and key
  float* rates;        // [group]
  float* decays;       // [group], logarithms
  float* inverse_rms;  // [group]
  float* errors;       // [group, value_dim]
  float* outputs;      // [group, value_dim] of the rule
  float* decayed;      // [group, key_dim, value_dim], or null where no gradient follows
};

class DeltaHead {
 public:
  // shape, parameters and the result's memory outlive it.
  DeltaHead(const DeltaShape& shape, std::int64_t head, float epsilon, const DeltaParameters& parameters);

  static std::int64_t memo_floats(const DeltaShape& shape);
  // projected: one row of the layer; state [state_floats], before and after; output: the layer's row.
  void step(const float* projected, float* state, float* output, const DeltaMemo& memo) const;
  // state_gradient: of the state after, becomes that of the one before. Writes this head's columns of
  // projected_gradient.
  void step_gradient(const float* projected, const DeltaMemo& memo, const float* output_gradient,
                     float* state_gradient, float* projected_gradient, const DeltaParameterGradients& sums) const;
  DeltaMemo place(float* memory) const;

 private:
  struct Column {                  // of a row of the layer, and its place among the head's channels
    std::int64_t from, to, count;
  };
  kernels::DeltaStep rule(const DeltaMemo& memo, std::int64_t i) const;
  void normalise(const DeltaMemo& memo) const;
  void normalise_gradient(const DeltaMemo& memo, float* mixed_gradient) const;
  void gate_output(const float* gate, const DeltaMemo& memo, std::int64_t i, float* output) const;
  void gate_output_gradient(const float* gate, const DeltaMemo& memo, std::int64_t i, const float* output_gradient,
                            float* rule_gradient, float* gate_gradient, float* norm_sum) const;
  void convolution_gradient(const DeltaMemo& memo, float* mixed_gradient, float* window_gradient,
                            float* projected_gradient, float* conv_sum) const;
  // Columns of value head i of the gates, rates and decays.
  std::int64_t gate_column(std::int64_t i) const;
  std::int64_t rate_column(std::int64_t i) const;
  std::int64_t value_head(std::int64_t i) const { return head_ * shape_.group() + i; }

  const DeltaShape shape_;
  const std::int64_t head_;
  const float epsilon_;
  const DeltaParameters parameters_;
  const kernels::Table& kernels_;
  const std::vector<Column> columns_;  // queries, keys, values
  std::vector<float> conv_;            // [kernel, channels]
};
}  // namespace corisco::model
