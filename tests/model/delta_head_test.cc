// One key head of a gated DeltaNet layer: its rows by the published recurrence, written out in double, and its
// gradients by differences of what it computes.
#include "model/delta_head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "corisco/base/random.h"

namespace corisco::model {
namespace {
using Numbers = std::vector<float>;
// Dimensions that fill no vector.
constexpr DeltaShape kShape{.num_key_heads = 2, .num_value_heads = 4, .key_dim = 5, .value_dim = 7, .kernel = 4};
constexpr std::int64_t kRows = 6, kHead = 1;
constexpr float kEpsilon = 1e-5F;

Numbers numbers(std::int64_t count, std::uint64_t key, double scale = 1) {
  Numbers list;
  for (std::int64_t i = 0; i < count; ++i)
    list.push_back(static_cast<float>((uniform(key, static_cast<std::uint64_t>(i)) * 2 - 1) * scale));
  return list;
}

struct Inputs {
  Numbers projected = numbers(kRows * kShape.projected_width(), 1, 1.5);
  Numbers state = numbers(kShape.state_floats(), 2);
  Numbers conv = numbers(kShape.mixed_width() * kShape.kernel, 3);
  Numbers a_log = numbers(kShape.num_value_heads, 4), dt_bias = numbers(kShape.num_value_heads, 5);
  Numbers norm = numbers(kShape.value_dim, 6);
  DeltaParameters parameters() const { return {conv.data(), a_log.data(), dt_bias.data(), norm.data()}; }
};

struct Outputs {
  Numbers output = Numbers(kRows * kShape.value_width());  // only the head's columns are written
  Numbers state;
};

Outputs run(const Inputs& in) {
  const DeltaHead head(kShape, kHead, kEpsilon, in.parameters());
  Numbers memory(DeltaHead::memo_floats(kShape));
  DeltaMemo memo = head.place(memory.data());
  memo.decayed = nullptr;
  Outputs out;
  out.state = in.state;
  for (std::int64_t row = 0; row < kRows; ++row)
    head.step(in.projected.data() + row * kShape.projected_width(), out.state.data(),
              out.output.data() + row * kShape.value_width(), memo);
  return out;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The convolved, activated column of a row; channel: its place in the head's window.
double mixed(const Inputs& in, std::int64_t row, std::int64_t column, std::int64_t channel) {
  double sum = 0;
  for (std::int64_t j = 0; j < kShape.kernel; ++j) {
    const std::int64_t from = row + j - (kShape.kernel - 1);
    const double input = from < 0 ? in.state[(from + kShape.kernel - 1) * kShape.channels() + channel]
                                  : in.projected[from * kShape.projected_width() + column];
    sum += in.conv[column * kShape.kernel + j] * input;
  }
  return sum * sigmoid(sum);
}

// Query or key of a row at length 1.
std::vector<double> unit(const Inputs& in, std::int64_t row, std::int64_t which) {
  std::vector<double> list;
  double squares = 1e-6;
  for (std::int64_t i = 0; i < kShape.key_dim; ++i) {
    list.push_back(mixed(in, row, which * kShape.key_width() + kHead * kShape.key_dim + i, which * kShape.key_dim + i));
    squares += list.back() * list.back();
  }
  for (double& x : list) x /= std::sqrt(squares);
  return list;
}

// S <- exp(g) S; S <- S + rate k (v - S^T k)^T; o = S^T q / sqrt(K); norm(o) * silu(z).
void expect_recurrence(const Inputs& in, const Outputs& out, std::int64_t i) {
  const std::int64_t head = kHead * kShape.group() + i, keys = kShape.key_dim, values = kShape.value_dim;
  const float* first = in.state.data() + kShape.window_floats() + i * keys * values;
  std::vector<double> memory(first, first + keys * values);
  for (std::int64_t row = 0; row < kRows; ++row) {
    const float* x = in.projected.data() + row * kShape.projected_width();
    const std::int64_t rate_at = kShape.mixed_width() + kShape.value_width() + head;
    const double rate = sigmoid(x[rate_at]);
    const double step = std::log1p(std::exp(x[rate_at + kShape.num_value_heads] + in.dt_bias[head]));
    const double decay = std::exp(-std::exp(in.a_log[head]) * step);
    const auto query = unit(in, row, 0), key = unit(in, row, 1);
    std::vector<double> read(values);
    double squares = 0;
    for (std::int64_t v = 0; v < values; ++v) {
      double predicted = 0;
      for (std::int64_t k = 0; k < keys; ++k) predicted += (memory[k * values + v] *= decay) * key[k];
      const std::int64_t channel = i * values + v;
      const double value = mixed(in, row, 2 * kShape.key_width() + kHead * kShape.group() * values + channel,
                                 2 * keys + channel);
      for (std::int64_t k = 0; k < keys; ++k) {
        memory[k * values + v] += rate * key[k] * (value - predicted);
        read[v] += memory[k * values + v] * query[k] / std::sqrt(static_cast<double>(keys));
      }
      squares += read[v] * read[v];
    }
    for (std::int64_t v = 0; v < values; ++v) {
      const double gate = x[kShape.mixed_width() + head * values + v];
      const double expected = in.norm[v] * read[v] / std::sqrt(squares / values + kEpsilon) * gate * sigmoid(gate);
      EXPECT_NEAR(out.output[row * kShape.value_width() + head * values + v], expected, 2e-5) << row << " " << v;
    }
  }
  for (std::int64_t n = 0; n < keys * values; ++n)
    EXPECT_NEAR(out.state[kShape.window_floats() + i * keys * values + n], memory[n], 2e-6);
}

TEST(DeltaHead, FollowsTheRecurrence) {
  const Inputs in;
  const Outputs out = run(in);
  for (std::int64_t i = 0; i < kShape.group(); ++i) expect_recurrence(in, out, i);
  // The window holds the last three inputs.
  EXPECT_EQ(out.state[0], in.projected[(kRows - 3) * kShape.projected_width() + kHead * kShape.key_dim]);
}

TEST(DeltaHead, RowByRowOrTogetherIsTheSame) {
  Inputs in;
  const Outputs together = run(in);
  const DeltaHead head(kShape, kHead, kEpsilon, in.parameters());
  Numbers state = in.state, output(kRows * kShape.value_width());
  for (std::int64_t row = 0; row < kRows; ++row) {
    Numbers memory(DeltaHead::memo_floats(kShape), 5.0F);  // whatever it held before
    head.step(in.projected.data() + row * kShape.projected_width(), state.data(),
              output.data() + row * kShape.value_width(), head.place(memory.data()));
  }
  EXPECT_EQ(output, together.output);
  EXPECT_EQ(state, together.state);
}

// A weighted sum of all that comes out, in double.
double total(const Inputs& in, const Numbers& output_weights, const Numbers& state_weights) {
  const Outputs out = run(in);
  double sum = 0;
  for (std::size_t n = 0; n < out.output.size(); ++n) sum += double{out.output[n]} * output_weights[n];
  for (std::size_t n = 0; n < out.state.size(); ++n) sum += double{out.state[n]} * state_weights[n];
  return sum;
}

// The head's own columns of a row.
bool is_own(std::int64_t column) {
  const std::int64_t keys = kShape.key_width(), mixed_width = kShape.mixed_width(), values = kShape.value_width();
  const std::int64_t own_values = kShape.group() * kShape.value_dim;
  if (column < 2 * keys) return column % keys / kShape.key_dim == kHead;
  if (column < mixed_width) return (column - 2 * keys) / own_values == kHead;
  if (column < mixed_width + values) return (column - mixed_width) / own_values == kHead;
  return (column - mixed_width - values) % kShape.num_value_heads / kShape.group() == kHead;
}

class DeltaHeadGradient : public ::testing::Test {
 protected:
  DeltaHeadGradient() {
    const DeltaHead head(kShape, kHead, kEpsilon, in.parameters());
    Numbers moving = in.state, output(kRows * kShape.value_width());
    std::vector<Numbers> memories(kRows, Numbers(DeltaHead::memo_floats(kShape)));
    for (std::int64_t row = 0; row < kRows; ++row)
      head.step(in.projected.data() + row * kShape.projected_width(), moving.data(),
                output.data() + row * kShape.value_width(), head.place(memories[row].data()));
    for (std::int64_t row = kRows; row-- > 0;)
      head.step_gradient(in.projected.data() + row * kShape.projected_width(), head.place(memories[row].data()),
                         output_weights.data() + row * kShape.value_width(), state.data(),
                         projected.data() + row * kShape.projected_width(),
                         {conv.data(), a_log.data(), dt_bias.data(), norm.data()});
  }
  void expect(Numbers& values, const Numbers& gradient, const std::function<bool(std::size_t)>& is_wanted) {
    constexpr float kStep = 4e-3F;
    for (std::size_t n = 0; n < values.size(); ++n) {
      if (!is_wanted(n)) continue;
      const float kept = values[n];
      values[n] = kept + kStep;
      const double above = total(in, output_weights, state_weights);
      values[n] = kept - kStep;
      const double below = total(in, output_weights, state_weights);
      values[n] = kept;
      EXPECT_NEAR(gradient[n], (above - below) / (2 * kStep), 4e-3 * (1 + std::fabs(gradient[n]))) << n;
    }
  }

  Inputs in;
  const Numbers output_weights = numbers(kRows * kShape.value_width(), 7);
  const Numbers state_weights = numbers(kShape.state_floats(), 8);
  Numbers state = state_weights;
  Numbers projected = Numbers(kRows * kShape.projected_width());
  Numbers conv = Numbers(in.conv.size()), a_log = Numbers(in.a_log.size()), dt_bias = Numbers(in.dt_bias.size()),
          norm = Numbers(in.norm.size());
};

TEST_F(DeltaHeadGradient, OfTheProjections) {
  expect(in.projected, projected, [](std::size_t n) {
    return is_own(static_cast<std::int64_t>(n) % kShape.projected_width());
  });
  for (std::size_t n = 0; n < projected.size(); ++n) {
    if (is_own(static_cast<std::int64_t>(n) % kShape.projected_width())) continue;
    EXPECT_EQ(projected[n], 0) << n;
  }
}

TEST_F(DeltaHeadGradient, OfTheStateBefore) {
  expect(in.state, state, [](std::size_t) { return true; });
}

TEST_F(DeltaHeadGradient, OfTheParameters) {
  const auto all = [](std::size_t) { return true; };
  expect(in.conv, conv, all);
  expect(in.a_log, a_log, all);
  expect(in.dt_bias, dt_bias, all);
  expect(in.norm, norm, all);
}
}  // namespace
}  // namespace corisco::model
