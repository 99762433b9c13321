#include "model/row_tiles.h"

#include <algorithm>

namespace corisco::model {
namespace {
// A place in one row's keys.
struct KeyCursor {
  const KeySpan* span;
  std::int32_t passed = 0;  // of the span

  void skip_ended() {
    while (passed == span->length) {
      ++span;
      passed = 0;
    }
  }
  std::int32_t key() const { return span->first + passed; }
  std::int32_t rest() const { return span->length - passed; }
};

bool are_same(KeyCursor a, KeyCursor b, std::int64_t count) {
  while (count > 0) {
    a.skip_ended();
    b.skip_ended();
    if (a.key() != b.key()) return false;
    const std::int64_t step = std::min<std::int64_t>({a.rest(), b.rest(), count});
    a.passed += static_cast<std::int32_t>(step);
    b.passed += static_cast<std::int32_t>(step);
    count -= step;
  }
  return true;
}
}  // namespace

std::int64_t count_keys(const AttentionPlan& plan, std::size_t row) {
  std::int64_t keys = 0;
  for (auto s = plan.begin[row]; s < plan.begin[row + 1]; ++s) keys += plan.spans[static_cast<std::size_t>(s)].length;
  return keys;
}

std::vector<bool> rows_that_follow(const AttentionPlan& plan) {
  std::vector<bool> follows(plan.begin.size() - 1, false);
  std::int64_t before = 0;
  for (std::size_t row = 0; row < follows.size(); ++row) {
    const std::int64_t keys = count_keys(plan, row), dropped = before + 1 - keys;
    if (before > 0 && (dropped == 0 || dropped == 1)) {
      KeyCursor older{&plan.spans[static_cast<std::size_t>(plan.begin[row - 1])]};
      const KeyCursor newer{&plan.spans[static_cast<std::size_t>(plan.begin[row])]};
      older.skip_ended();
      older.passed += static_cast<std::int32_t>(dropped);
      follows[row] = are_same(older, newer, keys - 1);
    }
    before = keys;
  }
  return follows;
}

std::vector<RowTile> cut_tiles(const std::vector<bool>& follows, std::int64_t rows_max) {
  std::vector<RowTile> tiles;
  for (std::size_t row = 0; row < follows.size(); ++row) {
    if (follows[row] && tiles.back().count < rows_max) ++tiles.back().count;
    else tiles.push_back({.first = static_cast<std::int64_t>(row), .count = 1});
  }
  return tiles;
}
}  // namespace corisco::model
