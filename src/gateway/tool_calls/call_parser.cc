#include "gateway/tool_calls/call_parser.h"

#include <algorithm>
#include <utility>

#include "corisco/base/strings.h"

namespace corisco::gateway::tool_calls {
std::vector<Event> CallParser::push(std::string_view piece) {
  input_.add(piece);
  return run();
}

std::vector<Event> CallParser::finish() {
  input_.end();
  return run();
}

std::vector<Event> CallParser::run() {
  while (is_in_call_ ? read_on() : read_text()) {}
  const auto sunk = input_.forget(is_in_call_ ? begin_ : input_.position());
  begin_ -= std::min(begin_, sunk);
  resume_ -= std::min(resume_, sunk);
  broken_end_ -= std::min(broken_end_, sunk);
  return out_.take();
}

CallParser::Found CallParser::find_opener(std::string_view text) const {
  Found first;
  for (std::size_t i = 0; i < openers_.size(); ++i) {
    const auto at = text.find(openers_[i].text);
    const bool is_beside = is_beside_call_ && at == count_blanks(text);
    if (openers_[i].is_weak && !is_beside) continue;
    if (at < first.at) first = {at, i};
  }
  return first;
}

std::size_t CallParser::held_bytes(std::string_view text) const {
  std::size_t held = 0;
  for (const auto& opener : openers_) {
    const auto partial = partial_suffix(text, opener.text);
    const bool may_open = !opener.is_weak || (is_beside_call_ && count_blanks(text) + partial == text.size());
    if (may_open) held = std::max(held, partial);
  }
  return held;
}

// Shows text up to the next opener, or to what may become one. False: waits for more.
bool CallParser::read_text() {
  const auto rest = input_.rest();
  const auto found = find_opener(rest);
  const bool is_found = found.at != std::string_view::npos;
  const auto held = input_.is_last() ? 0 : held_bytes(rest);
  const auto shown = is_found ? found.at : rest.size() - held;
  const bool is_blanks = is_beside_call_ && count_blanks(rest.substr(0, shown)) == shown;
  is_beside_call_ = is_blanks;
  if (!is_blanks || (!is_found && input_.is_last() && !had_call_)) show(shown);
  if (is_found) start_call(found);
  return is_found;
}

void CallParser::start_call(const Found& found) {
  const auto& opener = openers_[found.opener];
  begin_ = input_.position();
  input_.skip(input_.rest().find(opener.text) + opener.text.size());
  resume_ = input_.position();
  is_in_call_ = true;
  is_weak_ = opener.is_weak;
  open(found.opener);
}

// False: waits for more.
bool CallParser::read_on() {
  auto step = read();
  if (step == Step::more) {
    if (!input_.is_last()) return false;
    input_.skip(input_.rest().size());
    step = fail("the reply ends inside the call");
  }
  if (step == Step::broken) {
    give_back();
    return true;
  }
  is_in_call_ = false;
  is_beside_call_ = true;
  had_call_ = out_.index() >= 0;
  return true;
}

void CallParser::give_back() {
  const bool has_begun = out_.is_in_call();
  const bool is_call = has_begun || !is_weak_;
  if (has_begun) out_.end(true);
  if (is_call) out_.error(problem_, has_begun ? out_.index() : -1);
  if (is_call) broken_end_ = std::max(broken_end_, input_.position());
  input_.go_to(begin_);
  is_in_call_ = false;
  is_beside_call_ = false;
  show(resume_ - begin_);
}

void CallParser::show(std::size_t bytes) {
  const auto begin = input_.position();
  const auto broken_end = std::clamp(broken_end_, begin, begin + bytes);
  out_.text(input_.between(begin, broken_end), true);
  out_.text(input_.between(broken_end, begin + bytes), false);
  input_.skip(bytes);
}

Step CallParser::fail(std::string what) {
  problem_ = std::move(what);
  return Step::broken;
}

void CallParser::next_call(std::size_t begin, std::size_t resume) {
  begin_ = begin;
  resume_ = resume;
  is_weak_ = false;
}

Step CallParser::read_first_call(std::string_view marker) {
  input_.skip_blanks();
  const auto match = input_.take(marker);
  if (match == Match::no) return fail("a section of calls has no call");
  if (match == Match::more) return Step::more;
  resume_here();
  return Step::done;
}

Step CallParser::read_end(std::initializer_list<std::string_view> markers) {
  std::size_t offset = 0;
  for (const auto marker : markers) {
    offset += count_blanks(input_.rest().substr(offset));
    const auto match = input_.starts_with(marker, offset);
    if (match == Match::no) out_.error(cat("no ", marker, " after the call"), out_.index());
    if (match == Match::more && !input_.is_last()) return Step::more;
    if (match == Match::more) input_.skip(input_.rest().size());
    if (match != Match::yes) return Step::done;
    offset += marker.size();
  }
  input_.skip(offset);
  return Step::done;
}
}  // namespace corisco::gateway::tool_calls
