// Events in the making: numbers the calls and joins neighbours of one kind.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/tool_calls/parser.h"

namespace corisco::gateway::tool_calls {
class EventList {
 public:
  void text(std::string_view text, bool is_broken) { join(Event::Kind::text, text, -1, is_broken); }
  void reasoning(std::string_view text) { join(Event::Kind::reasoning, text, -1, false); }
  void begin(std::string name, std::string id = {}) {
    is_in_call_ = true;
    events_.push_back({Event::Kind::call_begin, std::move(name), ++index_, false, std::move(id)});
  }
  void arguments(std::string_view fragment) {
    join(Event::Kind::arguments, fragment, index_, false);
  }
  void end(bool is_broken = false) {
    is_in_call_ = false;
    events_.push_back({Event::Kind::call_end, {}, index_, is_broken});
  }
  // index: -1 if the call had not begun
  void error(std::string what, int index) {
    events_.push_back({Event::Kind::parse_error, std::move(what), index, false});
  }
  void append(std::vector<Event> events) {
    for (auto& event : events) events_.push_back(std::move(event));
  }

  bool is_in_call() const { return is_in_call_; }
  int index() const { return index_; }   // of the last call that has begun
  std::vector<Event> take() { return std::exchange(events_, {}); }

 private:
  void join(Event::Kind kind, std::string_view text, int index, bool is_broken) {
    if (text.empty()) return;
    const bool is_same = !events_.empty() && events_.back().kind == kind &&
                         events_.back().is_broken == is_broken;
    if (!is_same) events_.push_back({kind, {}, index, is_broken});
    events_.back().text += text;
  }

  std::vector<Event> events_;
  int index_ = -1;
  bool is_in_call_ = false;
};
}  // namespace corisco::gateway::tool_calls
