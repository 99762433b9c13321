#include "trainer/prefix_tree.h"

#include <algorithm>
#include <numeric>

namespace corisco::trainer {
namespace {
using Members = std::vector<std::size_t>;  // indices of rows that share a path
using Path = std::vector<model::KeySpan>;  // the runs on it

class Builder {
 public:
  explicit Builder(const std::vector<TokenRow>& rows) : rows_(rows) { layout_.places.resize(rows.size()); }

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
      input.token_ids.push_back(rows_[members[0]][t]);
      input.positions.push_back(static_cast<std::int64_t>(t));
      input.attention.spans.insert(input.attention.spans.end(), path.begin(), path.end());
      input.attention.end_row();
    }
  }

  // Those that go on after `end`, by their next token; the others are complete.
  std::vector<Members> parted_at(const Members& members, std::size_t end) const {
    std::vector<Members> parts;
    for (const std::size_t member : members) {
      if (rows_[member].size() == end) continue;
      const auto same = std::ranges::find_if(
          parts, [&](const Members& part) { return rows_[part[0]][end] == rows_[member][end]; });
      if (same == parts.end())
        parts.push_back({member});
      else
        same->push_back(member);
    }
    return parts;
  }

  const std::vector<TokenRow>& rows_;
  Layout layout_;
};
}  // namespace

std::size_t common_length(TokenRow a, TokenRow b) {
  const auto ends = std::ranges::mismatch(a, b);
  return static_cast<std::size_t>(ends.in1 - a.begin());
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
