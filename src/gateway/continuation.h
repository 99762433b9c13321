// An attempt's calls as a tree of token prefixes: a request whose rendering goes on from an
// earlier call gets that call's exact ids, never ids encoded again from text.
// Owned by the attempt, io thread. Never encodes or decodes.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/types/call.h"

namespace corisco::gateway {
//   call 0:  rendering "<u>hi<a>"                ids [1 2 3]    reply "yo<e>"  ids [4 5]
//   call 1:  rendering "<u>hi<a>yo<e><u>ok<a>"   goes on from call 0 with the tail "<u>ok<a>"
//            ids [1 2 3 4 5] + encode("<u>ok<a>")
// A node's text and ids are what it adds to its parent's; siblings are retries, choices, branches.
class CallTree {
 public:
  CallTree();
  ~CallTree();
  CallTree(CallTree&&) noexcept;
  CallTree& operator=(CallTree&&) noexcept;

  struct Node;
  struct Match {
    const Node* node = nullptr;          // null: goes on from nothing
    std::size_t text_bytes = 0;          // of the rendering that the node covers
    std::vector<TokenId> ids;            // of exactly that text
    std::vector<CallId> calls;           // whose replies it contains
  };
  // The longest earlier prompt with its reply that the rendering begins with.
  Match find(std::string_view rendering) const;
  // The same for a prompt that came as ids; text_bytes is then that of the ids' text.
  Match find(std::span<const TokenId> ids) const;

  // A finished call: it went on from match (as find gave it), with tail_text encoded as tail_ids;
  // reply_text is its reply decoded with control tokens kept.
  void add(const Match& match, std::string_view tail_text, const std::vector<TokenId>& tail_ids,
           std::string_view reply_text, const std::vector<TokenId>& reply_ids, CallId call);
  bool empty() const;

 private:
  Match match_of(const Node& found) const;

  std::unique_ptr<Node> root_;
};
}  // namespace corisco::gateway
