// Every instruction set's kernels against plain double-precision loops, at sizes that fill whole
// vectors and at sizes that do not.
#include "model/kernels/table.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "corisco/base/random.h"

namespace corisco::model::kernels {
namespace {
std::vector<float> random_numbers(std::int64_t count, std::uint64_t key, double scale = 1) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<float>(scale * (2 * uniform(key, static_cast<std::uint64_t>(i)) - 1)));
  }
  return numbers;
}

class Kernels : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    kernels_ = table(GetParam(), Storage::float32);
    if (kernels_ == nullptr) GTEST_SKIP() << "this CPU does not run " << GetParam();
  }
  const Table* kernels_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(InstructionSets, Kernels, ::testing::Values("baseline", "avx2", "avx512"));

TEST_P(Kernels, AddAndNormaliseRows) {
  for (const std::int64_t width : {5, 16, 37}) {
    const auto input = random_numbers(2 * width, 1), addend = random_numbers(2 * width, 2);
    const auto weight = random_numbers(width, 3);
    std::vector<float> sum(input.size()), output(input.size()), inverse_rms(2);
    kernels_->norm({.input = input.data(),
                    .addend = addend.data(),
                    .weight = weight.data(),
                    .sum = sum.data(),
                    .output = output.data(),
                    .inverse_rms = inverse_rms.data(),
                    .width = width,
                    .epsilon = 1e-5F},
                   0, 2);
    for (std::int64_t row = 0; row < 2; ++row) {
      double squares = 0;
      for (std::int64_t i = row * width; i < (row + 1) * width; ++i) {
        EXPECT_EQ(sum[i], input[i] + addend[i]);
        squares += double{sum[i]} * sum[i];
      }
      const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
      EXPECT_NEAR(inverse_rms[row], scale, 1e-6 * scale);
      for (std::int64_t i = 0; i < width; ++i) {
        EXPECT_NEAR(output[row * width + i], weight[i] * sum[row * width + i] * scale, 1e-6);
      }
    }
  }
}

std::uint16_t to_bfloat16(float number) {
  return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(number) + 0x8000U) >> 16);
}
float from_bfloat16(std::uint16_t number) { return std::bit_cast<float>(std::uint32_t{number} << 16); }

// Weights that are stored less 1 multiply what is not rounded yet: each result is the nearest bfloat16, which it would
// often not be if it were rounded before.
TEST_P(Kernels, NormaliseOnceRoundedWithWeightsLessOne) {
  constexpr std::int64_t kWidth = 333;
  std::vector<std::uint16_t> input, weight, output(kWidth);
  for (const float number : random_numbers(kWidth, 4)) input.push_back(to_bfloat16(number));
  for (const float number : random_numbers(kWidth, 5, 0.9)) weight.push_back(to_bfloat16(number));
  table(GetParam(), Storage::bfloat16)
      ->norm({.input = input.data(),
              .weight = weight.data(),
              .output = output.data(),
              .width = kWidth,
              .epsilon = 1e-5F,
              .weight_offset = 1},
             0, 1);
  double squares = 0;
  for (const auto number : input) squares += double{from_bfloat16(number)} * from_bfloat16(number);
  const double scale = 1 / std::sqrt(squares / kWidth + 1e-5);
  for (std::size_t i = 0; i < input.size(); ++i) {
    const double exact = (1 + double{from_bfloat16(weight[i])}) * from_bfloat16(input[i]) * scale;
    const double ulp = std::ldexp(1, std::ilogb(exact) - 7);
    EXPECT_LE(std::abs(from_bfloat16(output[i]) - exact), 0.502 * ulp) << i;
  }
}

// Every number of rows, so that every height of a tile occurs; a last panel that is not full; one
// block of inputs and several.
TEST_P(Kernels, ProductsMatchAndRowsAreIndependent) {
  for (const auto& [outputs, inputs] : {std::pair<std::int64_t, std::int64_t>{37, 19}, {64, 700}}) {
    const auto x = random_numbers(200 * inputs, 12), weight = random_numbers(outputs * inputs, 13);
    const std::int64_t width = kernels_->panel_width, panels = (outputs + width - 1) / width;
    std::vector<float> packed(static_cast<std::size_t>(panels * width * inputs));
    kernels_->pack(weight.data(), outputs, inputs, packed.data(), 0, panels);
    std::vector<float> all(static_cast<std::size_t>(200 * outputs));
    Product call{.x = x.data(), .rows = 200, .inputs = inputs, .outputs = outputs, .packed = packed.data()};
    call.result = all.data();
    kernels_->product(call, 0, panels);
    for (std::int64_t row : {0, 1, 191, 192, 199}) {
      for (std::int64_t column = 0; column < outputs; ++column) {
        double expected = 0;
        for (std::int64_t k = 0; k < inputs; ++k) {
          expected += double{x[row * inputs + k]} * weight[column * inputs + k];
        }
        EXPECT_NEAR(all[row * outputs + column], expected, 3e-5);
      }
    }
    for (std::int64_t rows = 1; rows <= 25; ++rows) {
      std::vector<float> some(static_cast<std::size_t>(rows * outputs));
      call.x = x.data() + 3 * inputs;
      call.rows = rows;
      call.result = some.data();
      for (std::int64_t p = 0; p < panels; ++p) kernels_->product(call, p, p + 1);
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 3 * outputs)) << rows;
    }
  }
}

// bfloat16 weights: the same sums as with the same numbers in float32, bit for bit, before they are rounded
// once. 37 outputs leave the last panel unfilled at every width.
TEST_P(Kernels, ProductsWidenBfloat16Weights) {
  const Table& narrow = *table(GetParam(), Storage::bfloat16);
  constexpr std::int64_t kOutputs = 37, kInputs = 230;
  const auto x = random_numbers(14 * kInputs, 14);
  std::vector<std::uint16_t> weight;
  std::vector<float> wide_weight;
  for (const float number : random_numbers(kOutputs * kInputs, 15)) {
    weight.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16));
    wide_weight.push_back(std::bit_cast<float>(std::uint32_t{weight.back()} << 16));
  }
  const std::int64_t width = narrow.panel_width, panels = (kOutputs + width - 1) / width;
  std::vector<std::uint16_t> packed(static_cast<std::size_t>(panels * width * kInputs));
  std::vector<float> wide_packed(packed.size());
  narrow.pack(weight.data(), kOutputs, kInputs, packed.data(), 0, panels);
  kernels_->pack(wide_weight.data(), kOutputs, kInputs, wide_packed.data(), 0, panels);
  for (const std::int64_t rows : {1, 2, 3, 14}) {
    std::vector<float> expected(static_cast<std::size_t>(rows * kOutputs)), wide(expected.size());
    std::vector<std::uint16_t> rounded(expected.size());
    Product call{.x = x.data(), .rows = rows, .inputs = kInputs, .outputs = kOutputs};
    call.packed = wide_packed.data();
    call.result = expected.data();
    kernels_->product(call, 0, panels);
    call.packed = packed.data();
    call.result = rounded.data();
    narrow.product(call, 0, panels);
    call.result = wide.data();
    call.is_wide = true;
    narrow.product(call, 0, panels);
    EXPECT_EQ(wide, expected) << rows;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(wide[i]);
      EXPECT_EQ(rounded[i], (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16) << wide[i];
    }
  }
}

TEST_P(Kernels, MultiplyUpBySiluOfGate) {
  constexpr std::int64_t kWidth = 21;
  auto gate_up = random_numbers(2 * kWidth, 4, 20);
  gate_up[0] = -200;  // silu's tails: exp() must neither overflow nor wrap
  gate_up[1] = 200;
  std::vector<float> output(kWidth);
  kernels_->swiglu(gate_up.data(), output.data(), kWidth, 0, 1);
  for (std::int64_t i = 0; i < kWidth; ++i) {
    const double gate = gate_up[i], expected = gate / (1 + std::exp(-gate)) * gate_up[kWidth + i];
    EXPECT_NEAR(output[i], expected, 3e-7 * std::fabs(expected) + 1e-30) << gate;
  }
}

TEST_P(Kernels, TurnPairsAndBack) {
  constexpr std::int64_t kHeads = 2, kDim = 6;
  const auto before = random_numbers(kHeads * kDim, 5);
  const std::vector<float> cosines{0.5F, -0.25F, 1}, sines{0.75F, 0.5F, 0};
  auto rows = before;
  kernels_->rotate(rows.data(), kHeads * kDim, kHeads, kDim, cosines.data(), sines.data(), 1, 0, 1);
  for (std::int64_t head = 0; head < kHeads; ++head) {
    for (std::int64_t i = 0; i < kDim / 2; ++i) {
      const double x = before[head * kDim + i], y = before[head * kDim + 3 + i];
      EXPECT_NEAR(rows[head * kDim + i], x * cosines[i] - y * sines[i], 1e-6);
      EXPECT_NEAR(rows[head * kDim + 3 + i], y * cosines[i] + x * sines[i], 1e-6);
    }
  }
  // Turning back multiplies by the transposed matrix: c^2 + s^2 of each pair in all.
  kernels_->rotate(rows.data(), kHeads * kDim, kHeads, kDim, cosines.data(), sines.data(), -1, 0, 1);
  EXPECT_NEAR(rows[0], before[0] * (0.25 + 0.5625), 1e-6);
  EXPECT_NEAR(rows[2], before[2], 1e-6);
}

// Rows of queries, keys and values side by side, as in a pass.
struct Case {
  std::int64_t rows, heads, kv_heads, dim;
  std::int64_t stride() const { return (heads + 2 * kv_heads) * dim; }
};

// Row t attends to rows 0 .. t, cut into spans of at most span_length.
AttentionPlan causal(std::int64_t rows, std::int32_t span_length) {
  AttentionPlan plan;
  for (std::int32_t t = 0; t < rows; ++t) {
    for (std::int32_t first = 0; first <= t; first += span_length) {
      plan.spans.push_back({first, std::min(span_length, t + 1 - first)});
    }
    plan.end_row();
  }
  return plan;
}

struct Attended {
  std::vector<float> output, log_sums;
};

Attention call_of(const Case& c, const std::vector<float>& qkv, const AttentionPlan& plan, Attended& run) {
  run.output.resize(static_cast<std::size_t>(c.rows * c.heads * c.dim));
  run.log_sums.resize(static_cast<std::size_t>(c.rows * c.heads));
  return {.queries = qkv.data(),
          .keys = qkv.data() + c.heads * c.dim,
          .values = qkv.data() + (c.heads + c.kv_heads) * c.dim,
          .query_stride = c.stride(),
          .kv_stride = c.stride(),
          .begin = plan.begin.data(),
          .spans = plan.spans.data(),
          .num_heads = c.heads,
          .num_kv_heads = c.kv_heads,
          .head_dim = c.dim,
          .scale = 0.5F,
          .output = run.output.data(),
          .log_sums = run.log_sums.data()};
}

std::vector<float> scratch_for(const Case& c) {
  const auto floats = std::max(attention_scratch_floats(c.rows, kTileQueriesMax, c.dim),
                               gradient_scratch_floats(c.rows, kTileQueriesMax, c.dim));
  return std::vector<float>(static_cast<std::size_t>(floats));
}

Attended attend_all(const Table& kernels, const Case& c, const std::vector<float>& qkv,
                    const AttentionPlan& plan) {
  Attended run;
  const Attention call = call_of(c, qkv, plan, run);
  auto scratch = scratch_for(c);
  for (std::int64_t row = 0; row < c.rows; ++row) {
    for (std::int64_t head = 0; head < c.kv_heads; ++head) kernels.attend(call, {row, 1}, head, scratch.data());
  }
  return run;
}

// Element i of the head'th query, of key head `head` or of its value in a row, in double.
double at(const Case& c, const std::vector<double>& qkv, std::int64_t row, std::int64_t head,
          std::int64_t i) {
  return qkv[static_cast<std::size_t>(row * c.stride() + head * c.dim + i)];
}

// Output of one row and head by the textbook formula.
std::vector<double> expected_output(const Case& c, const std::vector<double>& qkv, std::int64_t row,
                                    std::int64_t head) {
  const std::int64_t kv = head / (c.heads / c.kv_heads);
  std::vector<double> weights, output(static_cast<std::size_t>(c.dim));
  for (std::int64_t key = 0; key <= row; ++key) {
    double score = 0;
    for (std::int64_t i = 0; i < c.dim; ++i)
      score += at(c, qkv, row, head, i) * at(c, qkv, key, c.heads + kv, i);
    weights.push_back(std::exp(0.5 * score));
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::int64_t key = 0; key <= row; ++key) {
    for (std::int64_t i = 0; i < c.dim; ++i) {
      output[static_cast<std::size_t>(i)] +=
          weights[static_cast<std::size_t>(key)] / total * at(c, qkv, key, c.heads + c.kv_heads + kv, i);
    }
  }
  return output;
}

const Case kCases[] = {{.rows = 19, .heads = 2, .kv_heads = 1, .dim = 32},
                       {.rows = 70, .heads = 3, .kv_heads = 3, .dim = 20},
                       {.rows = 9, .heads = 6, .kv_heads = 2, .dim = 64}};

TEST_P(Kernels, AttendLikeTheFormula) {
  for (const Case& c : kCases) {
    const auto qkv = random_numbers(c.rows * c.stride(), 6);
    const Attended run = attend_all(*kernels_, c, qkv, causal(c.rows, 1000));
    const std::vector<double> wide(qkv.begin(), qkv.end());
    for (std::int64_t row = 0; row < c.rows; ++row) {
      for (std::int64_t head = 0; head < c.heads; ++head) {
        const auto expected = expected_output(c, wide, row, head);
        for (std::int64_t i = 0; i < c.dim; ++i) {
          EXPECT_NEAR(run.output[static_cast<std::size_t>((row * c.heads + head) * c.dim + i)],
                      expected[static_cast<std::size_t>(i)], 2e-6);
        }
      }
    }
  }
}

TEST_P(Kernels, AttendAlikeHoweverSpansAreCut) {
  for (const Case& c : kCases) {
    const auto qkv = random_numbers(c.rows * c.stride(), 7);
    const Attended whole = attend_all(*kernels_, c, qkv, causal(c.rows, 1000));
    for (const std::int32_t length : {1, 3, 16}) {
      const Attended cut = attend_all(*kernels_, c, qkv, causal(c.rows, length));
      EXPECT_EQ(cut.output, whole.output) << length;
      EXPECT_EQ(cut.log_sums, whole.log_sums) << length;
    }
  }
}

// d (sum of output * weights) / d qkv by central differences of the double formula.
double numeric_gradient(const Case& c, std::vector<double> qkv, const std::vector<float>& weights,
                        std::size_t at_index) {
  double sides[2];
  for (int side = 0; side < 2; ++side) {
    auto moved = qkv;
    moved[at_index] += side == 0 ? -1e-4 : 1e-4;
    sides[side] = 0;
    for (std::int64_t row = 0; row < c.rows; ++row) {
      for (std::int64_t head = 0; head < c.heads; ++head) {
        const auto output = expected_output(c, moved, row, head);
        for (std::int64_t i = 0; i < c.dim; ++i) {
          sides[side] += output[static_cast<std::size_t>(i)] *
                         double{weights[static_cast<std::size_t>((row * c.heads + head) * c.dim + i)]};
        }
      }
    }
  }
  return (sides[1] - sides[0]) / 2e-4;
}

// d (sum of output * given) / d qkv by the kernels, in tiles of tile_rows.
std::vector<float> gradient_of(const Table& kernels, const Case& c, const std::vector<float>& qkv,
                               const std::vector<float>& given, std::int64_t tile_rows) {
  const AttentionPlan plan = causal(c.rows, 4);
  Attended run = attend_all(kernels, c, qkv, plan);
  const Attention call = call_of(c, qkv, plan, run);
  std::vector<float> gradient(qkv.size());
  auto scratch = scratch_for(c);
  for (std::int64_t kv = 0; kv < c.kv_heads; ++kv) {
    std::vector<float> keys(static_cast<std::size_t>(c.rows * c.dim)), values(keys.size());
    const AttentionGradient to{.output_gradient = given.data(),
                               .query_gradient = gradient.data(),
                               .key_gradient = keys.data(),
                               .value_gradient = values.data()};
    for (std::int64_t row = 0; row < c.rows; row += tile_rows) {
      kernels.attend_gradient(call, to, {row, std::min(tile_rows, c.rows - row)}, kv, scratch.data());
    }
    for (std::int64_t row = 0; row < c.rows; ++row) {
      for (std::int64_t i = 0; i < c.dim; ++i) {
        const auto from = static_cast<std::size_t>(row * c.dim + i);
        gradient[static_cast<std::size_t>(row * c.stride() + (c.heads + kv) * c.dim + i)] = keys[from];
        gradient[static_cast<std::size_t>(row * c.stride() + (c.heads + c.kv_heads + kv) * c.dim + i)] =
            values[from];
      }
    }
  }
  return gradient;
}

// More keys than one block, once in tiles.
TEST_P(Kernels, AttentionGradientMatchesDifferences) {
  for (const auto& [rows, tile_rows] : {std::pair<std::int64_t, std::int64_t>{11, 1}, {11, 4}, {70, 8}}) {
    const Case c{.rows = rows, .heads = 4, .kv_heads = 2, .dim = 12};
    const auto qkv = random_numbers(c.rows * c.stride(), 8), given = random_numbers(c.rows * c.heads * c.dim, 9);
    const auto gradient = gradient_of(*kernels_, c, qkv, given, tile_rows);
    const std::vector<double> wide(qkv.begin(), qkv.end());
    for (std::size_t i = 0; i < qkv.size(); i += rows == 11 ? 7 : 797) {
      EXPECT_NEAR(gradient[i], numeric_gradient(c, wide, given, i), 2e-5) << rows << ' ' << tile_rows << ' ' << i;
    }
  }
}

TEST_P(Kernels, LogSumExpAndItsGradient) {
  for (const std::int64_t count : {3, 64, 1031, 5000}) {
    auto logits = random_numbers(count, 10, 12);
    double sum = 0;
    for (const float x : logits) sum += std::exp(double{x} * 0.5);
    const float log_sum = kernels_->log_sum_exp(logits.data(), count, 0.5F);
    EXPECT_NEAR(log_sum, std::log(sum), 2e-6) << count;
    const auto before = logits;
    kernels_->logprob_gradient(logits.data(), count, 0.5F, log_sum, 1, 3.0F);
    for (std::int64_t i = 0; i < count; ++i) {
      const double p = std::exp(double{before[i]} * 0.5) / sum;
      EXPECT_NEAR(logits[i], 1.5 * ((i == 1 ? 1 : 0) - p), 3e-6);
    }
  }
}

TEST_P(Kernels, NonFiniteLogitsGiveNonFiniteSums) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const std::size_t place : {std::size_t{0}, std::size_t{17}, std::size_t{32}}) {
      auto logits = random_numbers(33, 11);
      logits[place] = bad;
      EXPECT_FALSE(std::isfinite(kernels_->log_sum_exp(logits.data(), 33, 1.0F))) << bad << " at " << place;
    }
  }
}

TEST(KernelTable, TheBestOfThisMachineIsChosen) {
  const char* best = "baseline";
  for (const char* name : {"avx2", "avx512"}) {
    if (table(name, Storage::float32) != nullptr) best = name;
  }
  EXPECT_STREQ(table(Storage::float32).instruction_set, best);
}
}  // namespace
}  // namespace corisco::model::kernels
