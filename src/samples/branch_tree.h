// The token sequences of a rollout's calls as one compressed trie: which of them a prompt begins with.
// A prompt is compared once, from the root along its own path, however many calls there are.
// Owned by one merge(); holds copies of what no earlier call held.
#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "corisco/types/call.h"

namespace corisco::samples {
//   add [1 2 3] row 0, add [1 2 3 4 5] row 0, add [1 2 9] row 1
//
//   root -- 1 2 -- 3 -- 4 5 (row 0 ends here)      find [1 2 3 4 5 6]: row 0
//            \                                     find [1 2 3 7]:     no row, but a call ends on the way
//             9 (row 1 ends here)
class BranchTree {
 public:
  using Tokens = std::span<const TokenId>;
  // Where a sequence left the tree.
  struct Place {
    std::uint32_t node = 0;
    std::size_t matched = 0;   // of the node's edge
    std::size_t depth = 0;     // of the tokens that were looked up
  };
  struct Found {
    std::int32_t row = -1;                 // the longest prefix of the prompt at this temperature
    bool is_at_other_temperature = false;  // the longest prefix of all belongs to a row at another one
    bool has_call = false;                 // some call's prompt and reply are a prefix
    SplitCause split = SplitCause::none;   // of the longest such call, if that is in no row
    Place place;
  };

  BranchTree() : nodes_(1) {}
  Found find(Tokens prompt, float temperature) const;
  // The same of a prompt that begins with all tokens of this row, given from behind them on, to be added as
  // it was found. The row's temperature is the one that is asked for, so nothing above its end counts.
  Found find_behind(std::int32_t row, Tokens rest) const;
  // What a call leaves where it ends: the row that ends there too, or, if it is in none (-1), why it would
  // have begun one, for the call that goes on from it.
  struct End {
    std::int32_t row = -1;
    float temperature = 1.0F;
    SplitCause split = SplitCause::none;
  };
  // The call whose prompt was just found ends with reply.
  void add(const Found& found, Tokens prompt, Tokens reply, const End& end);

 private:
  struct Node {
    Tokens edge;                           // to it from its parent, in pieces_
    std::vector<std::uint32_t> children;   // no two edges begin with the same token
    std::vector<std::int32_t> rows;        // that end here, ascending
    bool ends_call = false, ends_trained_call = false;
    SplitCause split = SplitCause::none;
  };
  struct RowEnd {
    std::uint32_t node = 0;
    float temperature = 1.0F;
  };
  // Goes on along tokens and calls visit(node) at each node that is reached.
  template <class Visit> void walk(Place& place, Tokens tokens, const Visit& visit) const;
  void note(Found& found, const Node& node, float temperature) const;
  std::int64_t child_of(const Node& node, TokenId first) const;   // -1: none
  std::uint32_t node_at(const Place& place);                      // splits the edge if there is none yet
  void move_row(std::int32_t row, RowEnd to);

  std::vector<Node> nodes_;                // 0 is the root
  std::deque<std::vector<TokenId>> pieces_;
  std::vector<RowEnd> row_ends_;           // by row
};
}  // namespace corisco::samples
