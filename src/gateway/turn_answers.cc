#include "gateway/turn_answers.h"

namespace corisco::gateway {
namespace {
SplitCause refusal_of(Likeness likeness) {
  switch (likeness) {
    case Likeness::same: return SplitCause::exact_serving;
    case Likeness::without_reasoning: return SplitCause::reasoning_dropped;
    case Likeness::other: return SplitCause::reply_changed;
  }
  return SplitCause::reply_changed;
}

Differences differences_of(const CallTree::Question& question, const Comparison& comparison) {
  auto differences = comparison.differences;
  if (question.has_other_end) differences.add(Difference::missing_end);
  if (comparison.likeness == Likeness::without_reasoning) differences.add(Difference::kept_reasoning);
  if (!differences.any()) differences.add(Difference::whitespace);   // around calls
  return differences;
}
}  // namespace

std::vector<Comparison> compare_turns(const ReplyReader& reader, const Questions& questions) {
  std::vector<std::string_view> turns;
  for (const auto& question : questions) {
    turns.push_back(question.sampled);
    turns.push_back(question.returned);
  }
  const auto meanings = reader.read_all(turns);
  std::vector<Comparison> comparisons;
  for (std::size_t i = 0; i < questions.size(); ++i)
    comparisons.push_back(compare(meanings[2 * i], meanings[2 * i + 1]));
  return comparisons;
}

std::vector<Differences> take_answers(CallTree& calls, CallTree::Search& search, const Questions& questions,
                                      const std::vector<Comparison>& comparisons, TurnRules rules) {
  std::vector<Differences> all;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto likeness = comparisons[i].likeness;
    const bool is_same =
        likeness == Likeness::same || (likeness == Likeness::without_reasoning && rules.keeps_reasoning);
    if (!is_same || rules.is_exact) {
      search.refusals[questions[i].node] = refusal_of(is_same ? Likeness::same : likeness);
      continue;
    }
    calls.learn(questions[i]);
    all.push_back(differences_of(questions[i], comparisons[i]));
  }
  return all;
}

std::optional<SplitCause> cause_of_found(const CallTree& calls, const CallTree::Found& found, bool is_literal) {
  const auto* node = found.match.node;
  if (calls.empty()) return SplitCause::first;
  if (found.twin) return *found.twin;
  if (found.refusal) return *found.refusal;
  if (node != nullptr && (is_literal || CallTree::is_leaf(*node))) return SplitCause::none;
  if (is_literal) return SplitCause::new_conversation;
  return std::nullopt;
}
}  // namespace corisco::gateway
