// Attention in tiles of rows against the same kernels row by row, bit for bit, and against the formula in
// double: over random plans of a paged cache with shared prefixes, chunks, lone rows and sliding windows, and
// over rows of many blocks of keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <utility>

#include "model/kernels/table.h"
#include "model/row_tiles.h"
#include "model/window.h"
#include "random_plan.h"

namespace corisco::model::kernels {
namespace {
using testing::Dice;

struct Shape {
  std::int64_t group, kv_heads, dim;
  std::int64_t heads() const { return group * kv_heads; }
};

// Numbers as the storage holds them: bytes for the kernels, and what those bytes mean.
struct Numbers {
  std::vector<float> wide;
  std::vector<std::uint16_t> narrow;
  const void* stored(Storage storage) const {
    return storage == Storage::float32 ? static_cast<const void*>(wide.data()) : narrow.data();
  }
};

Numbers random_numbers(std::int64_t count, std::uint64_t key, Storage storage) {
  Numbers numbers;
  Dice dice(key);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(2 * dice.fraction() - 1);
    numbers.narrow.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16));
    const auto shorter = std::bit_cast<float>(std::uint32_t{numbers.narrow.back()} << 16);
    numbers.wide.push_back(storage == Storage::float32 ? number : shorter);
  }
  return numbers;
}

struct Problem {
  Shape shape;
  Storage storage;
  AttentionPlan plan;
  std::vector<std::int32_t> first_keys;  // positions
  std::int64_t row_keys_max;
  Numbers queries, keys, values;
  std::int64_t rows() const { return static_cast<std::int64_t>(plan.begin.size()) - 1; }
};

constexpr float kScale = 0.7F;

Problem make_problem(const Shape& shape, Storage storage, const AttentionPlan& all, std::int64_t window) {
  AttentionPlan plan = last_keys(all, window);
  const auto rows = static_cast<std::int64_t>(plan.begin.size()) - 1;
  std::vector<std::int32_t> first_keys;
  std::int64_t row_keys_max = 0, store_rows = 0;
  for (std::size_t row = 0; row + 1 < plan.begin.size(); ++row) {
    const std::int64_t keys = count_keys(plan, row);
    first_keys.push_back(static_cast<std::int32_t>(count_keys(all, row) - keys));
    row_keys_max = std::max(row_keys_max, keys);
  }
  for (const KeySpan& span : plan.spans) store_rows = std::max<std::int64_t>(store_rows, span.first + span.length);
  return {.shape = shape,
          .storage = storage,
          .plan = std::move(plan),
          .first_keys = std::move(first_keys),
          .row_keys_max = row_keys_max,
          .queries = random_numbers(rows * shape.heads() * shape.dim, 21, storage),
          .keys = random_numbers(store_rows * shape.kv_heads * shape.dim, 22, storage),
          .values = random_numbers(store_rows * shape.kv_heads * shape.dim, 23, storage)};
}

constexpr std::int64_t kNoWindow = 100000;

struct Attended {
  std::vector<float> output, log_sums;
};

Attended attend(const Table& kernels, const Problem& problem, std::int64_t rows_max) {
  const Shape& shape = problem.shape;
  const auto numbers = static_cast<std::size_t>(problem.rows() * shape.heads() * shape.dim);
  Attended result{std::vector<float>(numbers), std::vector<float>(numbers / static_cast<std::size_t>(shape.dim))};
  std::vector<std::uint16_t> narrow(numbers);
  const bool is_wide = problem.storage == Storage::float32;
  Attention call{.queries = problem.queries.stored(problem.storage),
                 .keys = problem.keys.stored(problem.storage),
                 .values = problem.values.stored(problem.storage),
                 .query_stride = shape.heads() * shape.dim,
                 .kv_stride = shape.kv_heads * shape.dim,
                 .begin = problem.plan.begin.data(),
                 .spans = problem.plan.spans.data(),
                 .first_keys = problem.first_keys.data(),
                 .num_heads = shape.heads(),
                 .num_kv_heads = shape.kv_heads,
                 .head_dim = shape.dim,
                 .scale = kScale,
                 .output = is_wide ? static_cast<void*>(result.output.data()) : narrow.data(),
                 .log_sums = result.log_sums.data()};
  // Garbage in the scratch: nothing may be read that was not written.
  const std::int64_t floats = attention_scratch_floats(problem.row_keys_max, rows_max * shape.group, shape.dim);
  std::vector<float> scratch(static_cast<std::size_t>(floats), std::numeric_limits<float>::quiet_NaN());
  for (const RowTile& tile : cut_tiles(rows_that_follow(problem.plan), rows_max)) {
    for (std::int64_t head = 0; head < shape.kv_heads; ++head) kernels.attend(call, tile, head, scratch.data());
  }
  for (std::size_t i = 0; !is_wide && i < numbers; ++i) {
    result.output[i] = std::bit_cast<float>(std::uint32_t{narrow[i]} << 16);
  }
  return result;
}

const Shape kShapes[] = {{1, 3, 64}, {2, 2, 32}, {3, 2, 64}, {4, 1, 128}, {5, 2, 20},
                         {6, 1, 64}, {7, 1, 32}, {8, 1, 64}, {9, 1, 128}, {2, 2, 24},
                         {2, 2, 16}, {1, 2, 8},  {4, 2, 24}, {3, 2, 40},  {2, 1, 72}};

class AttentionTiles : public ::testing::TestWithParam<std::tuple<const char*, Storage>> {
 protected:
  void SetUp() override {
    kernels_ = table(std::get<0>(GetParam()), storage());
    if (kernels_ == nullptr) GTEST_SKIP() << "this CPU does not run " << std::get<0>(GetParam());
  }
  static Storage storage() { return std::get<1>(GetParam()); }
  const Table* kernels_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(InstructionSets, AttentionTiles,
                         ::testing::Combine(::testing::Values("baseline", "avx2", "avx512"),
                                            ::testing::Values(Storage::float32, Storage::bfloat16)));

void expect_same_bits(const Table& kernels, const Problem& problem, std::initializer_list<std::int64_t> tile_rows) {
  const Shape& shape = problem.shape;
  const Attended alone = attend(kernels, problem, 1);
  for (const std::int64_t rows_max : tile_rows) {
    if (rows_max * shape.group > kTileQueriesMax) continue;
    const Attended tiled = attend(kernels, problem, rows_max);
    EXPECT_EQ(tiled.output, alone.output) << shape.group << ' ' << shape.dim << ' ' << rows_max;
    EXPECT_EQ(tiled.log_sums, alone.log_sums) << shape.group << ' ' << shape.dim << ' ' << rows_max;
  }
}

TEST_P(AttentionTiles, ChangeNoBitOfARow) {
  std::uint64_t seed = 100;
  for (const Shape& shape : kShapes) {
    for (const std::int64_t window : {kNoWindow, std::int64_t{70}, std::int64_t{4}}) {
      SCOPED_TRACE(window);
      const Problem problem = make_problem(shape, storage(), testing::random_plan(++seed), window);
      expect_same_bits(*kernels_, problem, {2, 5, 8, 24, 40});
    }
  }
}

// A chunk whose rows have hundreds of keys, and a row that is decoded behind it.
AttentionPlan long_plan() {
  Dice dice(5);
  std::vector<std::int32_t> table(150);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int32_t>(i * 7 % table.size());
  AttentionPlan plan;
  testing::add_rows(plan, table, 610, 680, dice);
  testing::add_rows(plan, table, 700, 701, dice);
  return plan;
}

TEST_P(AttentionTiles, ChangeNoBitOfARowOfManyBlocks) {
  for (const Shape& shape : {Shape{3, 1, 64}, Shape{5, 2, 20}, Shape{1, 2, 32}}) {
    for (const std::int64_t window : {kNoWindow, std::int64_t{300}, std::int64_t{64}}) {
      SCOPED_TRACE(window);
      expect_same_bits(*kernels_, make_problem(shape, storage(), long_plan(), window), {3, 16, 32, 70});
    }
  }
}

// What one head of a row gives: dim numbers, then the log-sum.
std::vector<double> by_formula(const Problem& problem, std::int64_t row, std::int64_t head) {
  const Shape& shape = problem.shape;
  const auto element = [&](const Numbers& numbers, std::int64_t at_row, std::int64_t width, std::int64_t at_head,
                           std::int64_t i) {
    return double{numbers.wide[static_cast<std::size_t>((at_row * width + at_head) * shape.dim + i)]};
  };
  const std::int64_t kv_head = head / shape.group;
  std::vector<double> result(static_cast<std::size_t>(shape.dim) + 1);
  double total = 0;
  for (const std::int64_t key : testing::keys_of(problem.plan, static_cast<std::size_t>(row))) {
    double score = 0;
    for (std::int64_t i = 0; i < shape.dim; ++i) {
      score += element(problem.queries, row, shape.heads(), head, i) *
               element(problem.keys, key, shape.kv_heads, kv_head, i);
    }
    const double weight = std::exp(double{kScale} * score);
    total += weight;
    for (std::int64_t i = 0; i < shape.dim; ++i) {
      result[static_cast<std::size_t>(i)] += weight * element(problem.values, key, shape.kv_heads, kv_head, i);
    }
  }
  for (double& number : result) number /= total;
  result.back() = std::log(total);
  return result;
}

void expect_formula(const Table& kernels, const Problem& problem, std::int64_t rows_max) {
  const Shape& shape = problem.shape;
  const Attended tiled = attend(kernels, problem, rows_max);
  const double rounding = problem.storage == Storage::float32 ? 0 : 1.0 / 256;  // of a bfloat16's 8 bits
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    for (std::int64_t head = 0; head < shape.heads(); ++head) {
      const auto expected = by_formula(problem, row, head);
      const std::int64_t place = row * shape.heads() + head;
      EXPECT_NEAR(tiled.log_sums[static_cast<std::size_t>(place)], expected.back(), 2e-5 + 2e-7 * expected.back());
      for (std::int64_t i = 0; i < shape.dim; ++i) {
        const double number = expected[static_cast<std::size_t>(i)];
        ASSERT_NEAR(tiled.output[static_cast<std::size_t>(place * shape.dim + i)], number,
                    5e-6 + rounding * std::fabs(number))
            << row << ' ' << head << ' ' << i;
      }
    }
  }
}

TEST_P(AttentionTiles, AttendLikeTheFormula) {
  for (const Shape& shape : {Shape{3, 2, 64}, Shape{9, 1, 32}, Shape{2, 1, 128}}) {
    for (const std::int64_t window : {kNoWindow, std::int64_t{30}}) {
      expect_formula(*kernels_, make_problem(shape, storage(), testing::random_plan(7), window), 7);
    }
  }
}

TEST_P(AttentionTiles, AttendLikeTheFormulaOverManyBlocks) {
  for (const std::int64_t window : {kNoWindow, std::int64_t{300}}) {
    for (const std::int64_t rows_max : {1, 32}) {
      expect_formula(*kernels_, make_problem({3, 1, 64}, storage(), long_plan(), window), rows_max);
    }
  }
}

// Each key's scores are larger than those before, in the end by hundreds, and the other way round: what was
// added up is scaled in every block, or never.
TEST_P(AttentionTiles, AttendLikeTheFormulaWhicheverKeyIsLargest) {
  for (const bool rises : {true, false}) {
    Problem problem = make_problem({3, 1, 32}, storage(), long_plan(), kNoWindow);
    const auto keys = testing::keys_of(problem.plan, static_cast<std::size_t>(problem.rows()) - 1);
    std::fill(problem.queries.wide.begin(), problem.queries.wide.end(), 1.0F);
    std::fill(problem.queries.narrow.begin(), problem.queries.narrow.end(), std::uint16_t{0x3f80});
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const auto rank = static_cast<float>(rises ? k : keys.size() - 1 - k);
      const std::uint32_t bits = std::bit_cast<std::uint32_t>((rank - 650) / 64) >> 16;
      for (std::size_t i = 0; i < 32; ++i) {
        const std::size_t place = static_cast<std::size_t>(keys[k]) * 32 + i;
        problem.keys.narrow[place] = static_cast<std::uint16_t>(bits);
        problem.keys.wide[place] = std::bit_cast<float>(bits << 16);
      }
    }
    expect_formula(*kernels_, problem, 32);
    expect_same_bits(*kernels_, problem, {32});
  }
}

// Rows 0 .. 199 of one sequence; the key and value of one token are not numbers.
TEST_P(AttentionTiles, LetNoRowSeeAKeyThatIsNotItsOwn) {
  AttentionPlan plan;
  for (std::int32_t row = 0; row < 200; ++row) {
    plan.spans.push_back({0, row + 1});
    plan.end_row();
  }
  constexpr std::size_t kWidth = 2 * 64;
  using Hole = std::pair<std::int64_t, std::size_t>;
  for (const auto& [window, token] : {Hole{kNoWindow, 199}, Hole{kNoWindow, 20}, Hole{40, 11}, Hole{150, 30}}) {
    Problem problem = make_problem({2, 1, 64}, storage(), plan, window);
    const Attended expected = attend(*kernels_, problem, 1);
    for (Numbers* numbers : {&problem.keys, &problem.values}) {
      for (std::size_t i = token * 64; i < (token + 1) * 64; ++i) {
        numbers->wide[i] = std::numeric_limits<float>::quiet_NaN();
        numbers->narrow[i] = 0x7fc0;
      }
    }
    const Attended tiled = attend(*kernels_, problem, 35);
    for (std::size_t row = 0; row < 200; ++row) {
      const bool sees = row >= token && row < token + static_cast<std::size_t>(window);
      for (std::size_t i = row * kWidth; i < (row + 1) * kWidth; ++i) {
        if (sees) ASSERT_TRUE(std::isnan(tiled.output[i])) << token << ' ' << row;
        else ASSERT_EQ(tiled.output[i], expected.output[i]) << token << ' ' << row;
      }
    }
  }
}
}  // namespace
}  // namespace corisco::model::kernels
