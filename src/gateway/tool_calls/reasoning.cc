// <think>...</think> before everything else: told apart here, what follows is the rest's.
#include <algorithm>
#include <utility>

#include "corisco/base/strings.h"
#include "gateway/tool_calls/event_list.h"
#include "gateway/tool_calls/input.h"
#include "gateway/tool_calls/parser.h"

namespace corisco::gateway::tool_calls {
namespace {
class ReasoningParser final : public Parser {
 public:
  ReasoningParser(ReasoningTags tags, bool is_open, std::unique_ptr<Parser> rest)
      : tags_(std::move(tags)), is_prompt_open_(is_open), rest_(std::move(rest)) {}

  std::vector<Event> push(std::string_view piece) override {
    input_.add(piece);
    return run();
  }
  std::vector<Event> finish() override {
    input_.end();
    auto events = run();
    if (!rest_) return events;
    for (auto& event : rest_->finish()) events.push_back(std::move(event));
    return events;
  }

 private:
  enum class At { start, inside, after };
  struct End {
    std::size_t at = std::string_view::npos;
    std::size_t bytes = 0;               // of the tag that is consumed
  };

  std::vector<Event> run() {
    if (at_ == At::start) read_start();
    if (at_ == At::inside) read_inside();
    if (at_ == At::after) pass_on();
    input_.forget(input_.position());
    return out_.take();
  }
  // A model may write the tag that the template has written already.
  void read_start() {
    const auto blanks = count_blanks(input_.rest());
    const auto match = input_.starts_with(tags_.open, blanks);
    if (match == Match::more && !input_.is_last()) return;
    if (match == Match::yes) input_.skip(blanks + tags_.open.size());
    at_ = match == Match::yes || is_prompt_open_ ? At::inside : At::after;
  }
  void read_inside() {
    const auto rest = input_.rest();
    const auto end = find_end(rest);
    const bool is_end = end.at != std::string_view::npos;
    const auto held = std::max(partial_suffix(rest, tags_.close), partial_suffix(rest, tags_.implicit_end));
    const auto shown = is_end ? end.at : rest.size() - (input_.is_last() ? 0 : held);
    out_.reasoning(rest.substr(0, shown));
    if (shown > 0) is_line_start_ = rest[shown - 1] == '\n';
    input_.skip(is_end ? shown + end.bytes : shown);
    if (is_end) at_ = At::after;
  }
  End find_end(std::string_view rest) const {
    End end{rest.find(tags_.close), tags_.close.size()};
    if (tags_.implicit_end.empty()) return end;
    for (auto at = rest.find(tags_.implicit_end); at < end.at; at = rest.find(tags_.implicit_end, at + 1)) {
      const bool is_line_start = at == 0 ? is_line_start_ : rest[at - 1] == '\n';
      if (is_line_start) end = {at, 0};
    }
    return end;
  }
  void pass_on() {
    const auto rest = input_.rest();
    if (rest_)
      out_.append(rest_->push(rest));
    else
      out_.text(rest, false);
    input_.skip(rest.size());
  }

  ReasoningTags tags_;
  bool is_prompt_open_;
  std::unique_ptr<Parser> rest_;
  At at_ = At::start;
  bool is_line_start_ = true;            // of the next byte of reasoning
  Input input_;
  EventList out_;
};
}  // namespace

std::unique_ptr<Parser> make_reasoning_parser(ReasoningTags tags, bool is_open,
                                              std::unique_ptr<Parser> rest) {
  return std::make_unique<ReasoningParser>(std::move(tags), is_open, std::move(rest));
}

bool ends_in_reasoning(std::string_view prompt, const ReasoningTags& tags) {
  return ends_with(trim(prompt), tags.open);
}
}  // namespace corisco::gateway::tool_calls
