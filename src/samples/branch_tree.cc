#include "samples/branch_tree.h"

#include <algorithm>

namespace corisco::samples {
namespace {
// The whole is tried first, since that is one memcmp and nearly always equal.
std::size_t common_length(BranchTree::Tokens a, BranchTree::Tokens b) {
  const auto length = std::min(a.size(), b.size());
  a = a.first(length);
  b = b.first(length);
  if (std::equal(a.begin(), a.end(), b.begin())) return length;
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}
}  // namespace

template <class Visit>
void BranchTree::walk(Place& place, Tokens tokens, const Visit& visit) const {
  while (place.depth < tokens.size()) {
    if (place.matched == nodes_[place.node].edge.size()) {
      const auto child = child_of(nodes_[place.node], tokens[place.depth]);
      if (child < 0) return;
      place.node = static_cast<std::uint32_t>(child);
      place.matched = 0;
    }
    const Node& node = nodes_[place.node];
    const auto common = common_length(tokens.subspan(place.depth), node.edge.subspan(place.matched));
    place.depth += common;
    place.matched += common;
    if (place.matched < node.edge.size()) return;
    visit(node);
  }
}

// Deeper nodes come later, so what is noted last is the longest.
void BranchTree::note(Found& found, const Node& node, float temperature) const {
  if (node.ends_call) {
    found.has_call = true;
    found.split = node.split;
  }
  if (node.ends_trained_call) found.is_at_other_temperature = !node.rows.empty();
  for (const auto row : node.rows) {
    if (row_ends_[static_cast<std::size_t>(row)].temperature != temperature) continue;
    found.row = row;
    found.is_at_other_temperature = false;
    break;
  }
}

BranchTree::Found BranchTree::find(Tokens prompt, float temperature) const {
  Found found;
  walk(found.place, prompt, [&](const Node& node) { note(found, node, temperature); });
  return found;
}

BranchTree::Found BranchTree::find_behind(std::int32_t row, Tokens rest) const {
  const auto& end = row_ends_[static_cast<std::size_t>(row)];
  Found found;
  found.place = {end.node, nodes_[end.node].edge.size(), 0};
  note(found, nodes_[end.node], end.temperature);
  walk(found.place, rest, [&](const Node& node) { note(found, node, end.temperature); });
  return found;
}

void BranchTree::add(const Found& found, Tokens prompt, Tokens reply, const End& end) {
  Place place = found.place;
  std::vector<TokenId> rest(prompt.begin() + static_cast<std::ptrdiff_t>(place.depth), prompt.end());
  rest.insert(rest.end(), reply.begin(), reply.end());
  place.depth = 0;   // within rest, from here on; the tree may hold a prompt's reply already
  walk(place, rest, [](const Node&) {});
  auto last = node_at(place);
  if (place.depth < rest.size()) {
    const auto& piece = pieces_.emplace_back(rest.begin() + static_cast<std::ptrdiff_t>(place.depth), rest.end());
    const auto parent = last;
    last = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back().edge = piece;
    nodes_[parent].children.push_back(last);
  }
  nodes_[last].ends_call = true;
  nodes_[last].split = end.split;
  if (end.row >= 0) move_row(end.row, {last, end.temperature});
}

std::int64_t BranchTree::child_of(const Node& node, TokenId first) const {
  for (const auto child : node.children)
    if (nodes_[child].edge.front() == first) return child;
  return -1;
}

// The node keeps the upper part of its edge; a new one below it takes the rest and what ended there.
std::uint32_t BranchTree::node_at(const Place& place) {
  if (place.matched == nodes_[place.node].edge.size()) return place.node;
  const auto lower = static_cast<std::uint32_t>(nodes_.size());
  auto& below = nodes_.emplace_back();
  auto& above = nodes_[place.node];
  std::swap(above, below);
  above.edge = below.edge.first(place.matched);
  above.children = {lower};
  below.edge = below.edge.subspan(place.matched);
  for (const auto row : below.rows) row_ends_[static_cast<std::size_t>(row)].node = lower;
  return place.node;
}

void BranchTree::move_row(std::int32_t row, RowEnd to) {
  const auto index = static_cast<std::size_t>(row);
  if (index == row_ends_.size()) {
    row_ends_.push_back(to);
  } else {
    std::erase(nodes_[row_ends_[index].node].rows, row);
    row_ends_[index] = to;
  }
  auto& rows = nodes_[to.node].rows;
  rows.insert(std::upper_bound(rows.begin(), rows.end(), row), row);
  nodes_[to.node].ends_trained_call = true;
}
}  // namespace corisco::samples
