#include "model/delta_head.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace corisco::model {
namespace {
constexpr float kLengthEpsilon = 1e-6F;

float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }
float softplus(float x) { return x > 20 ? x : std::log1p(std::exp(x)); }

float dot(const float* a, const float* b, std::int64_t count) {
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void copy(const float* from, std::int64_t count, float* to) { std::copy_n(from, count, to); }
}  // namespace

DeltaHead::DeltaHead(const DeltaShape& shape, std::int64_t head, float epsilon, const DeltaParameters& parameters)
    : shape_(shape),
      head_(head),
      epsilon_(epsilon),
      parameters_(parameters),
      kernels_(kernels::table(kernels::Storage::float32)),
      columns_{{head * shape.key_dim, 0, shape.key_dim},
               {shape.key_width() + head * shape.key_dim, shape.key_dim, shape.key_dim},
               {2 * shape.key_width() + head * shape.group() * shape.value_dim, 2 * shape.key_dim,
                shape.group() * shape.value_dim}},
      conv_(static_cast<std::size_t>(shape.kernel * shape.channels())) {
  for (const Column& column : columns_) {
    for (std::int64_t c = 0; c < column.count; ++c) {
      for (std::int64_t j = 0; j < shape.kernel; ++j) {
        conv_[static_cast<std::size_t>(j * shape.channels() + column.to + c)] =
            parameters.conv[(column.from + c) * shape.kernel + j];
      }
    }
  }
}

std::int64_t DeltaHead::memo_floats(const DeltaShape& shape) {
  return (shape.kernel + 2) * shape.channels() + 2 + 3 * shape.group() + 2 * shape.group() * shape.value_dim +
         shape.memory_floats();
}

DeltaMemo DeltaHead::place(float* memory) const {
  const auto take = [&memory](std::int64_t count) {
    float* taken = memory;
    memory += count;
    return taken;
  };
  const std::int64_t channels = shape_.channels(), group = shape_.group(), values = group * shape_.value_dim;
  DeltaMemo memo{};
  memo.inputs = take(shape_.kernel * channels);
  memo.convolved = take(channels);
  memo.mixed = take(channels);
  memo.lengths = take(2);
  memo.rates = take(group);
  memo.decays = take(group);
  memo.inverse_rms = take(group);
  memo.errors = take(values);
  memo.outputs = take(values);
  memo.decayed = take(shape_.memory_floats());
  return memo;
}

std::int64_t DeltaHead::gate_column(std::int64_t i) const {
  return shape_.mixed_width() + value_head(i) * shape_.value_dim;
}

std::int64_t DeltaHead::rate_column(std::int64_t i) const {
  return shape_.mixed_width() + shape_.value_width() + value_head(i);
}

kernels::DeltaStep DeltaHead::rule(const DeltaMemo& memo, std::int64_t i) const {
  const std::int64_t values = i * shape_.value_dim;
  return {.query = memo.mixed,
          .key = memo.mixed + shape_.key_dim,
          .value = memo.mixed + 2 * shape_.key_dim + values,
          .decay = std::exp(memo.decays[i]),
          .rate = memo.rates[i],
          .decayed = memo.decayed ? memo.decayed + i * shape_.key_dim * shape_.value_dim : nullptr,
          .error = memo.errors + values,
          .output = memo.outputs + values,
          .key_dim = shape_.key_dim,
          .value_dim = shape_.value_dim};
}

void DeltaHead::step(const float* projected, float* state, float* output, const DeltaMemo& memo) const {
  const std::int64_t channels = shape_.channels();
  float* own = memo.inputs + shape_.window_floats();
  copy(state, shape_.window_floats(), memo.inputs);
  for (const Column& column : columns_) copy(projected + column.from, column.count, own + column.to);
  copy(memo.inputs + channels, shape_.window_floats(), state);
  std::fill_n(memo.convolved, channels, 0.0F);
  for (std::int64_t j = 0; j < shape_.kernel; ++j) {
    const float* weights = conv_.data() + j * channels;
    for (std::int64_t c = 0; c < channels; ++c) memo.convolved[c] += weights[c] * memo.inputs[j * channels + c];
  }
  kernels_.silu(memo.convolved, memo.mixed, channels);
  normalise(memo);
  for (std::int64_t i = 0; i < shape_.group(); ++i) {
    const std::int64_t head = value_head(i), rate = rate_column(i);
    const float step_size = projected[rate + shape_.num_value_heads] + parameters_.dt_bias[head];
    memo.rates[i] = sigmoid(projected[rate]);
    memo.decays[i] = -std::exp(parameters_.a_log[head]) * softplus(step_size);
    kernels::DeltaStep call = rule(memo, i);
    call.state = state + shape_.window_floats() + i * shape_.key_dim * shape_.value_dim;
    kernels_.delta_step(call);
    gate_output(projected + gate_column(i), memo, i, output + head * shape_.value_dim);
  }
}

// Query and key to length 1, the query then by 1 / sqrt(key_dim).
void DeltaHead::normalise(const DeltaMemo& memo) const {
  const std::int64_t width = shape_.key_dim;
  const float scales[] = {1.0F / std::sqrt(static_cast<float>(width)), 1.0F};
  for (std::int64_t i = 0; i < 2; ++i) {
    float* row = memo.mixed + i * width;
    memo.lengths[i] = 1.0F / std::sqrt(dot(row, row, width) + kLengthEpsilon);
    for (std::int64_t c = 0; c < width; ++c) row[c] *= memo.lengths[i] * scales[i];
  }
}

// With u = x / |x|: dx = (du - u (u . du)) / |x|.
void DeltaHead::normalise_gradient(const DeltaMemo& memo, float* mixed_gradient) const {
  const std::int64_t width = shape_.key_dim;
  const float scales[] = {1.0F / std::sqrt(static_cast<float>(width)), 1.0F};
  for (std::int64_t i = 0; i < 2; ++i) {
    const float* row = memo.mixed + i * width;  // u times its scale
    float* gradient = mixed_gradient + i * width;
    const float along = dot(row, gradient, width) / scales[i];
    for (std::int64_t c = 0; c < width; ++c) {
      gradient[c] = (gradient[c] * scales[i] - row[c] * along) * memo.lengths[i];
    }
  }
}

// output = norm weight * o / rms(o) * silu(gate).
void DeltaHead::gate_output(const float* gate, const DeltaMemo& memo, std::int64_t i, float* output) const {
  const std::int64_t width = shape_.value_dim;
  const float* rows = memo.outputs + i * width;
  memo.inverse_rms[i] = 1.0F / std::sqrt(dot(rows, rows, width) / static_cast<float>(width) + epsilon_);
  kernels_.silu(gate, output, width);
  for (std::int64_t j = 0; j < width; ++j) output[j] *= parameters_.norm[j] * (rows[j] * memo.inverse_rms[i]);
}

void DeltaHead::gate_output_gradient(const float* gate, const DeltaMemo& memo, std::int64_t i,
                                     const float* output_gradient, float* rule_gradient, float* gate_gradient,
                                     float* norm_sum) const {
  const std::int64_t width = shape_.value_dim;
  const float* rows = memo.outputs + i * width;
  float mean = 0;
  for (std::int64_t j = 0; j < width; ++j) {
    const float s = sigmoid(gate[j]), open = gate[j] * s, hat = rows[j] * memo.inverse_rms[i];
    gate_gradient[j] = output_gradient[j] * parameters_.norm[j] * hat * (s + open * (1 - s));
    norm_sum[j] += output_gradient[j] * hat * open;
    rule_gradient[j] = output_gradient[j] * parameters_.norm[j] * open;
    mean += rule_gradient[j] * hat / static_cast<float>(width);
  }
  for (std::int64_t j = 0; j < width; ++j) {
    rule_gradient[j] = (rule_gradient[j] - rows[j] * memo.inverse_rms[i] * mean) * memo.inverse_rms[i];
  }
}

void DeltaHead::step_gradient(const float* projected, const DeltaMemo& memo, const float* output_gradient,
                              float* state_gradient, float* projected_gradient,
                              const DeltaParameterGradients& sums) const {
  std::vector<float> mixed(static_cast<std::size_t>(shape_.channels())), rule_output(
      static_cast<std::size_t>(shape_.value_dim));
  for (std::int64_t i = 0; i < shape_.group(); ++i) {
    const std::int64_t head = value_head(i), rate = rate_column(i), decay = rate + shape_.num_value_heads;
    gate_output_gradient(projected + gate_column(i), memo, i, output_gradient + head * shape_.value_dim,
                         rule_output.data(), projected_gradient + gate_column(i), sums.norm);
    float rate_gradient = 0, decay_gradient = 0;
    kernels_.delta_step_gradient(
        rule(memo, i),
        {.output_gradient = rule_output.data(),
         .state_gradient = state_gradient + shape_.window_floats() + i * shape_.key_dim * shape_.value_dim,
         .query_gradient = mixed.data(),
         .key_gradient = mixed.data() + shape_.key_dim,
         .value_gradient = mixed.data() + 2 * shape_.key_dim + i * shape_.value_dim,
         .rate_gradient = &rate_gradient,
         .log_decay_gradient = &decay_gradient});
    projected_gradient[rate] = rate_gradient * memo.rates[i] * (1 - memo.rates[i]);
    const float step_gradient = -std::exp(parameters_.a_log[head]) * decay_gradient *
                                sigmoid(projected[decay] + parameters_.dt_bias[head]);
    projected_gradient[decay] = step_gradient;
    sums.dt_bias[head] += step_gradient;
    sums.a_log[head] += decay_gradient * memo.decays[i];
  }
  normalise_gradient(memo, mixed.data());
  convolution_gradient(memo, mixed.data(), state_gradient, projected_gradient, sums.conv);
}

// The gradient of the window after the row becomes that of the window before it: both hold the inputs
// that they share, one place apart.
void DeltaHead::convolution_gradient(const DeltaMemo& memo, float* mixed_gradient, float* window_gradient,
                                     float* projected_gradient, float* conv_sum) const {
  const std::int64_t channels = shape_.channels(), last = shape_.kernel - 1;
  for (std::int64_t c = 0; c < channels; ++c) {
    const float s = sigmoid(memo.convolved[c]);
    mixed_gradient[c] *= s + memo.convolved[c] * s * (1 - s);
  }
  for (const Column& column : columns_) {
    for (std::int64_t c = 0; c < column.count; ++c) {
      const std::int64_t channel = column.to + c;
      const float gradient = mixed_gradient[channel];
      float* weights = conv_sum + (column.from + c) * shape_.kernel;
      for (std::int64_t j = 0; j < shape_.kernel; ++j) weights[j] += gradient * memo.inputs[j * channels + channel];
      const auto weight = [&](std::int64_t j) { return conv_[static_cast<std::size_t>(j * channels + channel)]; };
      projected_gradient[column.from + c] = window_gradient[(last - 1) * channels + channel] + gradient * weight(last);
      for (std::int64_t j = last - 1; j > 0; --j) {
        window_gradient[j * channels + channel] =
            window_gradient[(j - 1) * channels + channel] + gradient * weight(j);
      }
      window_gradient[channel] = gradient * weight(0);
    }
  }
}
}  // namespace corisco::model
