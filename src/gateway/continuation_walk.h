// One look-up: down the tree along a rendering. Compares bytes only.
#pragma once
#include <optional>
#include <tuple>

#include "gateway/continuation_node.h"

namespace corisco::gateway {
class CallTree::Walk {
 public:
  explicit Walk(const Search& search) : search_(search) {}
  // The node is matched up to offset; what of its children is, too?
  void below(const Node& node, std::size_t offset);

  const Node* best = nullptr;            // the deepest one, its root included
  std::size_t covered = 0;
  std::vector<Question> questions;
  std::optional<SplitCause> refusal;     // of the deepest turn that was refused
  std::size_t refused_at = 0;
  std::vector<const Node*> refused;      // at that place
  std::optional<SplitCause> twin;

 private:
  bool begins_with_stem(const Node& node, std::size_t offset) const;
  std::optional<std::size_t> end_of_turn(const Node& node, std::size_t at);
  std::optional<Question> question_of(const Node& node, std::size_t at) const;
  void refuse(const Node& node, std::size_t at, SplitCause cause);
  bool is_better(const Node& node, std::size_t offset) const;

  const Search& search_;
};
}  // namespace corisco::gateway
