#include "trainer/prefix_tree.h"

#include <algorithm>
#include <numeric>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::trainer {
namespace {
using Members = std::vector<std::size_t>;  // indices of rows that share a path
using Path = std::vector<model::KeySpan>;  // the runs on it

bool agree_at(const TokenRow& a, const TokenRow& b, std::size_t t) {
  return a.ids[t] == b.ids[t] && std::ranges::equal(a.experts_of(t), b.experts_of(t));
}

class Builder {
 public:
  explicit Builder(const std::vector<TokenRow>& rows) : rows_(rows) {
    layout_.places.resize(rows.size());
    for (const TokenRow& row : rows) width_ = std::max(width_, row.width());
  }

  // The members agree on their first `depth` tokens, which are laid out along path.
  void add(const Members& members, std::size_t depth, Path path) {
    const std::size_t end = agreed_length(members);
    if (end > depth) add_run(members, depth, end, path);
    for (const Members& part : parted_at(members, end)) add(part, end, path);
  }
  Layout take() { return std::move(layout_); }

 private:
  std::size_t agreed_length(const Members& members) const {
    std::size_t length = rows_[members[0]].size();
    for (const std::size_t member : members)
      length = std::min(length, common_length(rows_[members[0]], rows_[member]));
    return length;
  }

  // Appends tokens depth .. end - 1 of the members, and extends path by them.
  void add_run(const Members& members, std::size_t depth, std::size_t end, Path& path) {
    auto& input = layout_.input;
    const auto first = static_cast<std::int32_t>(input.token_ids.size());
    const bool follows = !path.empty() && path.back().first + path.back().length == first;
    if (!follows) path.push_back({.first = first, .length = 0});
    for (std::size_t t = depth; t < end; ++t) {
      ++path.back().length;
      for (const std::size_t member : members)
        layout_.places[member].push_back(static_cast<std::int32_t>(input.token_ids.size()));
      input.token_ids.push_back(rows_[members[0]].ids[t]);
      add_experts(rows_[members[0]], t);
      input.positions.push_back(static_cast<std::int64_t>(t));
      input.attention.spans.insert(input.attention.spans.end(), path.begin(), path.end());
      input.attention.end_row();
    }
  }

  void add_experts(const TokenRow& row, std::size_t t) {
    auto& replayed = layout_.input.replayed_experts;
    const auto experts = row.experts_of(t);
    CORISCO_ASSERT(experts.empty() || experts.size() == width_,
                   cat("rows with ", experts.size(), " and ", width_, " experts a token"));
    if (experts.empty()) replayed.insert(replayed.end(), width_, model::kRouterChooses);
    else replayed.insert(replayed.end(), experts.begin(), experts.end());
  }

  // Those that go on after `end`, by their next token; the others are complete.
  std::vector<Members> parted_at(const Members& members, std::size_t end) const {
    std::vector<Members> parts;
    for (const std::size_t member : members) {
      if (rows_[member].size() == end) continue;
      const auto same = std::ranges::find_if(
          parts, [&](const Members& part) { return agree_at(rows_[part[0]], rows_[member], end); });
      if (same == parts.end())
        parts.push_back({member});
      else
        same->push_back(member);
    }
    return parts;
  }

  const std::vector<TokenRow>& rows_;
  std::size_t width_ = 0;
  Layout layout_;
};
}  // namespace

std::size_t common_length(const TokenRow& a, const TokenRow& b) {
  const auto ids = std::ranges::mismatch(a.ids, b.ids).in1 - a.ids.begin();
  const auto width = a.width();
  if (width != b.width()) return 0;
  if (width == 0) return static_cast<std::size_t>(ids);
  const auto experts = std::ranges::mismatch(a.experts, b.experts).in1 - a.experts.begin();
  return std::min(static_cast<std::size_t>(ids), static_cast<std::size_t>(experts) / width);
}

Layout lay_out(const std::vector<TokenRow>& rows, bool share_prefixes) {
  Builder builder(rows);
  Members all(rows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (share_prefixes && !all.empty()) {
    builder.add(all, 0, {});
  } else {
    for (const std::size_t row : all) builder.add({row}, 0, {});
  }
  return builder.take();
}
}  // namespace corisco::trainer
