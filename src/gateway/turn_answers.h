// What the tree of calls asks about turns that came back in a form not seen before, answered by their
// meaning. Pure but for the tree, which learns; comparing may be done on any thread.
#pragma once
#include <optional>
#include <vector>

#include "gateway/continuation.h"

namespace corisco::gateway {
struct TurnRules {
  bool is_exact = false;                 // gateway.exact_serving: a form that differs is another turn
  bool keeps_reasoning = false;          // gateway.keep_reasoning: reasoning may be missing
};
using Questions = std::vector<CallTree::Question>;

std::vector<Comparison> compare_turns(const ReplyReader& reader, const Questions& questions);
// Teaches the tree the forms of turns that are its replies, and adds to the search's refusals why others
// are not. What differed in each of the former.
std::vector<Differences> take_answers(CallTree& calls, CallTree::Search& search, const Questions& questions,
                                      const std::vector<Comparison>& comparisons, TurnRules rules);
// The cause, where the look-up alone tells it; none: messages have to be compared.
std::optional<SplitCause> cause_of_found(const CallTree& calls, const CallTree::Found& found, bool is_literal);
}  // namespace corisco::gateway
