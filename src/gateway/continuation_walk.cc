#include "gateway/continuation_walk.h"

#include <algorithm>

#include "corisco/base/strings.h"

namespace corisco::gateway {
namespace {
struct EndText {
  std::size_t at = std::string_view::npos;
  std::size_t bytes = 0;
};

// Finds the texts that end a turn.
class TurnEnds {
 public:
  explicit TurnEnds(const CallTree::Search& search) : texts_(*search.end_texts), goes_on_(search.goes_on) {}

  // The first of them from a place on; of two at one place the longer.
  EndText next(std::string_view text, std::size_t from) const {
    auto end = next_of_any(text, from);
    while (end.bytes > 0 && !goes_on_.empty() && starts_with(text.substr(end.at + end.bytes), goes_on_))
      end = next_of_any(text, end.at + end.bytes);
    return end;
  }
  // A model may write such a text in plain tokens, in the midst of its turn.
  std::size_t count(std::string_view text) const {
    std::size_t count = 0;
    for (auto end = next(text, 0); end.bytes > 0; end = next(text, end.at + end.bytes)) ++count;
    return count;
  }

 private:
  EndText next_of_any(std::string_view text, std::size_t from) const {
    EndText first;
    for (const auto& end : texts_) {
      const auto at = end.empty() ? std::string_view::npos : text.find(end, from);
      if (at < first.at || (at == first.at && at != std::string_view::npos && end.size() > first.bytes))
        first = {at, end.size()};
    }
    return first;
  }
  const std::vector<std::string>& texts_;
  std::string_view goes_on_;
};

// Where several replies to one prompt came back as none of them, the cause that says most.
int weight_of(SplitCause cause) {
  switch (cause) {
    case SplitCause::exact_serving: return 3;
    case SplitCause::reasoning_dropped: return 2;
    case SplitCause::stop_string: return 1;
    default: return 0;
  }
}
}  // namespace

void CallTree::Walk::below(const Node& node, std::size_t offset) {
  if (is_better(node, offset)) {
    best = &node;
    covered = offset;
  }
  for (const auto& child : node.children) {
    if (!begins_with_stem(*child, offset)) continue;
    const auto at = offset + child->stem.size();
    if (search_.rendering.substr(at) == child->turn_beginning()) {
      twin = child->split;
      continue;
    }
    if (const auto end = end_of_turn(*child, at)) below(*child, *end);
  }
}

bool CallTree::Walk::begins_with_stem(const Node& node, std::size_t offset) const {
  const auto rest = search_.rendering.substr(offset);
  const auto size = node.stem.size();
  if (rest.size() < size) return false;
  const auto& end = node.stem_end;
  if (rest.substr(size - end.size(), end.size()) != end) return false;
  return node.stem.common_with(std::span<const char>(rest.data(), size)) == size;
}

std::optional<std::size_t> CallTree::Walk::end_of_turn(const Node& node, std::size_t at) {
  if (node.is_cut && !search_.is_literal) {
    refuse(node, at, SplitCause::stop_string);
    return std::nullopt;
  }
  const auto rest = search_.rendering.substr(at);
  std::size_t longest = 0;
  for (const auto& form : node.forms) {
    if (starts_with(rest, form)) longest = std::max(longest, form.size());
    if (search_.is_literal) break;       // as sampled, or not at all
  }
  if (longest > 0) return at + longest;
  if (search_.is_literal || node.is_literal) {
    refuse(node, at, SplitCause::reply_changed);
    return std::nullopt;
  }
  if (const auto answer = search_.refusals.find(&node); answer != search_.refusals.end())
    refuse(node, at, answer->second);
  else if (auto question = question_of(node, at))
    questions.push_back(std::move(*question));
  return std::nullopt;
}

std::optional<CallTree::Question> CallTree::Walk::question_of(const Node& node, std::size_t at) const {
  const TurnEnds ends(search_);
  const auto rest = search_.rendering.substr(at);
  auto end = ends.next(rest, 0);
  for (auto left = ends.count(node.sampled()); left > 0 && end.bytes > 0; --left)
    end = ends.next(rest, end.at + end.bytes);
  if (end.bytes == 0) return std::nullopt;   // no turn ends here
  const bool is_same_end = node.end() == rest.substr(end.at, end.bytes);
  Question question;
  question.node = &node;
  question.sampled = node.sampled();
  question.returned = rest.substr(0, end.at);
  question.form = rest.substr(0, is_same_end ? end.at + end.bytes : end.at);
  question.has_other_end = !is_same_end && !node.end().empty();
  return question;
}

void CallTree::Walk::refuse(const Node& node, std::size_t at, SplitCause cause) {
  const bool is_deeper = !refusal || at > refused_at;
  if (is_deeper) refused.clear();
  if (is_deeper || at == refused_at) refused.push_back(&node);
  const bool says_more = !is_deeper && at == refused_at && weight_of(cause) > weight_of(*refusal);
  if (!is_deeper && !says_more) return;
  refusal = cause;
  refused_at = at;
}

// The longest; of replies that read alike the one whose tool calls the messages name, else the newest that
// was delivered.
bool CallTree::Walk::is_better(const Node& node, std::size_t offset) const {
  if (best == nullptr || offset != covered) return best == nullptr || offset > covered;
  const auto rank = [this](const Node& of) {
    const bool is_named = std::any_of(of.tool_call_ids.begin(), of.tool_call_ids.end(), [this](const auto& id) {
      return search_.messages_json.find(id) != std::string_view::npos;
    });
    return std::tuple(is_named, of.is_delivered, of.call.call);
  };
  return rank(node) > rank(*best);
}
}  // namespace corisco::gateway
