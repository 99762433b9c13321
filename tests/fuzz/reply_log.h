// A reply parser's events in a form to compare, with what must hold of any of them.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "fuzz/fuzz.h"
#include "gateway/tool_calls/parser.h"

namespace corisco::gateway::tool_calls {
class ReplyLog {
 public:
  void add(const std::vector<Event>& events) {
    for (const auto& event : events) add(event);
  }
  // Neighbours of one kind are joined.
  std::string text() const { return join(entries_, "\n"); }
  const std::string& shown() const { return shown_; }          // text and reasoning, as they came
  std::size_t num_calls() const { return arguments_.size(); }

 private:
  void add(const Event& event) {
    const auto tag = cat(static_cast<int>(event.kind), " ", event.index, " ", event.is_broken ? 1 : 0, ": ");
    if (tag == last_tag_ && event.kind != Event::Kind::parse_error) entries_.back() += event.text;
    else entries_.push_back(tag + event.text);
    last_tag_ = tag;
    check(event);
  }
  void check(const Event& event) {
    using fuzz::require;
    const auto index = static_cast<std::size_t>(event.index);
    if (event.kind == Event::Kind::text || event.kind == Event::Kind::reasoning) shown_ += event.text;
    if (event.kind == Event::Kind::call_begin) {
      require(index == arguments_.size(), "call ", event.index, " after ", arguments_.size());
      arguments_.emplace_back();
    }
    if (event.kind == Event::Kind::arguments || event.kind == Event::Kind::call_end)
      require(index + 1 == arguments_.size() && !ended_.contains(index), "call ", event.index, " is not open");
    if (event.kind == Event::Kind::arguments) arguments_.back() += event.text;
    if (event.kind != Event::Kind::call_end) return;
    ended_.insert(index);
    const bool is_object = nlohmann::json::parse(arguments_.back(), nullptr, false).is_object();
    require(event.is_broken || is_object, "arguments are no object: ", arguments_.back());
  }

  std::vector<std::string> entries_;
  std::string last_tag_;
  std::string shown_;
  std::vector<std::string> arguments_;
  std::set<std::size_t> ended_;
};

inline ReplyLog read_reply(Parser& parser, const std::vector<std::string_view>& pieces) {
  ReplyLog log;
  for (const auto piece : pieces) log.add(parser.push(piece));
  log.add(parser.finish());
  return log;
}

// make(): a new parser. Whole, byte by byte, and cut by the seed: the same events.
template <class Make>
ReplyLog read_every_way(const Make& make, std::string_view reply, std::uint32_t seed) {
  const auto whole = read_reply(*make(), {reply});
  for (const auto cut : {0U, seed}) {
    const auto other = read_reply(*make(), fuzz::pieces_of(reply, cut));
    fuzz::require(other.text() == whole.text(), "whole:\n", whole.text(), "\ncut by ", cut, ":\n", other.text());
  }
  return whole;
}
}  // namespace corisco::gateway::tool_calls
