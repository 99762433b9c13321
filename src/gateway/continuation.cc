#include "gateway/continuation.h"

#include <algorithm>
#include <utility>

#include "corisco/base/assert.h"
#include "gateway/continuation_walk.h"

namespace corisco::gateway {
CallTree::CallTree() : root_(std::make_unique<Node>()) {}
CallTree::~CallTree() = default;
CallTree::CallTree(CallTree&&) noexcept = default;
CallTree& CallTree::operator=(CallTree&&) noexcept = default;

bool CallTree::is_leaf(const Node& node) { return node.children.empty(); }

// Depth is the number of turns, which the cap of calls per attempt bounds.
CallTree::Found CallTree::find(const Search& search) const {
  Walk walk(search);
  walk.below(*root_, 0);
  if (walk.refused_at <= walk.covered) walk.refusal.reset();   // another reply to that prompt is the one
  const auto& best = *walk.best;
  const bool adds_end = &best != root_.get() && is_leaf(best) && best.end_bytes == 0 && !best.is_literal;
  return {match_of(best, walk.covered), std::move(walk.questions), adds_end, walk.refusal, std::move(walk.refused),
          walk.twin};
}

// Up from each leaf: the deepest node of its branch that the prompt has all ids of.
CallTree::Match CallTree::find(std::span<const TokenId> ids) const {
  const Node* best = root_.get();
  for (const auto* leaf : in_order_) {
    if (!is_leaf(*leaf)) continue;
    const auto common = leaf->call.ids.common_with(ids);
    const Node* node = leaf;
    while (node->call.ids.size() > common) node = node->parent;
    const auto rank = [](const Node& of) { return std::tuple(of.call.ids.size(), of.is_delivered, of.call.call); };
    if (rank(*node) > rank(*best)) best = node;
  }
  std::size_t text_bytes = 0;
  for (const auto* node = best; node != root_.get(); node = node->parent)
    text_bytes += node->stem.size() + node->forms.front().size();
  return match_of(*best, text_bytes);
}

CallTree::Match CallTree::match_of(const Node& found, std::size_t text_bytes) const {
  Match match;
  if (&found == root_.get()) return match;
  match.node = &found;
  match.text_bytes = text_bytes;
  match.ids = found.call.ids;
  for (const auto* node = &found; node != root_.get(); node = node->parent) match.calls.push_back(node->call.call);
  std::reverse(match.calls.begin(), match.calls.end());
  return match;
}

void CallTree::learn(const Question& question) {
  // Nodes live as long as the tree; only what is known of their form and what follows them changes.
  auto& forms = const_cast<Node*>(question.node)->forms;
  if (std::find(forms.begin(), forms.end(), question.form) != forms.end()) return;
  if (forms.size() == Node::kFormsMax) forms.erase(forms.begin() + 1);
  forms.push_back(question.form);
}

void CallTree::add(Added added) {
  CORISCO_ASSERT(added.reply.size() >= added.reply_end.size(), "a reply is shorter than its end");
  auto* parent = added.match.node == nullptr ? root_.get() : const_cast<Node*>(added.match.node);
  auto node = std::make_unique<Node>();
  node->parent = parent;
  const auto stem = added.stem.items();
  node->stem_end = stem.substr(stem.size() - std::min(stem.size(), Node::kStemEndBytes));
  node->stem = std::move(added.stem);
  node->turn_beginning_bytes = added.turn_beginning.size();
  node->end_bytes = added.reply_end.size();
  node->forms.push_back(std::move(added.turn_beginning) + added.reply);
  node->is_literal = added.is_literal;
  node->is_cut = added.is_cut;
  node->tool_call_ids = std::move(added.tool_call_ids);
  node->split = added.split;
  node->call = std::move(added.call);
  in_order_.push_back(node.get());
  parent->children.push_back(std::move(node));
}

void CallTree::note_delivered(CallId call) {
  for (auto node = in_order_.rbegin(); node != in_order_.rend(); ++node) {
    if ((*node)->call.call != call) continue;
    (*node)->is_delivered = true;
    return;
  }
}

CallTree::Earlier CallTree::earlier(const Node& node) const {
  auto earlier = node.call;
  earlier.turn = node.sampled();
  const auto* root = &node;
  while (root->parent != root_.get()) root = root->parent;
  earlier.root_stem = root->stem;
  return earlier;
}

std::vector<CallTree::Earlier> CallTree::newest(std::size_t num_max, const Node* node) const {
  std::vector<Earlier> found;
  for (auto at = in_order_.rbegin(); at != in_order_.rend() && found.size() < num_max; ++at)
    if (is_leaf(**at) || (node != nullptr && (*at)->parent == node)) found.push_back(earlier(**at));
  return found;
}
}  // namespace corisco::gateway
