#include "gateway/continuation.h"

#include <algorithm>

#include "corisco/base/strings.h"

namespace corisco::gateway {
struct CallTree::Node {
  const Node* parent = nullptr;
  std::string text;
  std::vector<TokenId> ids;
  CallId call;
  std::vector<std::unique_ptr<Node>> children;
};

CallTree::CallTree() : root_(std::make_unique<Node>()) {}
CallTree::~CallTree() = default;
CallTree::CallTree(CallTree&&) noexcept = default;
CallTree& CallTree::operator=(CallTree&&) noexcept = default;

bool CallTree::empty() const { return root_->children.empty(); }

namespace {
// The deepest node below this one whose part (text or ids) the whole has from offset on. Depth is the
// number of turns, which the cap of calls per attempt bounds.
template <class Node, class Part>
const Node* deepest(const Node& node, Part Node::*part_of, std::span<const typename Part::value_type> whole,
                    std::size_t offset, std::size_t& covered) {
  const Node* best = &node;
  covered = offset;
  for (const auto& child : node.children) {
    const Part& part = (*child).*part_of;
    const auto rest = whole.subspan(offset);
    if (rest.size() < part.size() || !std::equal(part.begin(), part.end(), rest.begin())) continue;
    std::size_t reached = 0;
    const auto* found = deepest<Node>(*child, part_of, whole, offset + part.size(), reached);
    if (reached <= covered) continue;
    best = found;
    covered = reached;
  }
  return best;
}
}  // namespace

CallTree::Match CallTree::find(std::string_view rendering) const {
  std::size_t covered = 0;
  return match_of(*deepest<Node>(*root_, &Node::text, rendering, 0, covered));
}

CallTree::Match CallTree::find(std::span<const TokenId> ids) const {
  std::size_t covered = 0;
  return match_of(*deepest<Node>(*root_, &Node::ids, ids, 0, covered));
}

CallTree::Match CallTree::match_of(const Node& found) const {
  Match match;
  if (&found == root_.get()) return match;
  match.node = &found;
  std::vector<const Node*> path;
  for (const auto* node = &found; node != nullptr; node = node->parent) path.push_back(node);
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    match.text_bytes += (*node)->text.size();
    match.ids.insert(match.ids.end(), (*node)->ids.begin(), (*node)->ids.end());
    if (*node != root_.get()) match.calls.push_back((*node)->call);
  }
  return match;
}

void CallTree::add(const Match& match, std::string_view tail_text, const std::vector<TokenId>& tail_ids,
                   std::string_view reply_text, const std::vector<TokenId>& reply_ids, CallId call) {
  // Nodes live as long as the tree and are never changed but for their children.
  auto* parent = match.node == nullptr ? root_.get() : const_cast<Node*>(match.node);
  auto node = std::make_unique<Node>();
  node->parent = parent;
  node->text = cat(tail_text, reply_text);
  node->call = call;
  node->ids = tail_ids;
  node->ids.insert(node->ids.end(), reply_ids.begin(), reply_ids.end());
  parent->children.push_back(std::move(node));
}
}  // namespace corisco::gateway
