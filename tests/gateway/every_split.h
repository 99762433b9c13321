// For tests: a parser's events in a form to compare, the same for every way to cut the reply.
#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/base/json.h"
#include "gateway/tool_calls/parser.h"

namespace corisco::gateway::tool_calls::testing {
using MakeParser = std::function<std::unique_ptr<Parser>()>;

struct SeenCall {
  std::string name;
  std::string arguments;
  bool is_broken = false;
};
struct Seen {
  std::string log;                       // every event in its order, neighbours joined
  std::string text;                      // without what belongs to broken calls
  std::string broken_text;
  std::string all_text;                  // both
  std::string reasoning;
  std::vector<SeenCall> calls;
  std::vector<std::string> errors;
};

inline std::string tag_of(const Event& event) {
  constexpr const char* kNames[] = {"text", "reasoning", "begin", "arguments", "end", "error"};
  std::string tag = kNames[static_cast<int>(event.kind)];
  if (event.index >= 0) tag += " " + std::to_string(event.index);
  return event.is_broken ? tag + " broken" : tag;
}

class Watcher {
 public:
  void add(const std::vector<Event>& events) {
    for (const auto& event : events) add(event);
  }
  Seen take() { return std::move(seen_); }

 private:
  void add(const Event& event) {
    const auto tag = tag_of(event);
    const bool is_joined = tag == last_tag_ && event.kind != Event::Kind::parse_error;
    seen_.log += is_joined ? event.text : "\n" + tag + ": " + event.text;
    last_tag_ = tag;
    switch (event.kind) {
      case Event::Kind::text:
        (event.is_broken ? seen_.broken_text : seen_.text) += event.text;
        seen_.all_text += event.text;
        break;
      case Event::Kind::reasoning: seen_.reasoning += event.text; break;
      case Event::Kind::call_begin:
        EXPECT_EQ(event.index, static_cast<int>(seen_.calls.size()));
        seen_.calls.push_back({event.text, "", false});
        break;
      case Event::Kind::arguments: seen_.calls.back().arguments += event.text; break;
      case Event::Kind::call_end: seen_.calls.back().is_broken = event.is_broken; break;
      case Event::Kind::parse_error: seen_.errors.push_back(event.text); break;
    }
  }
  Seen seen_;
  std::string last_tag_;
};

// Cut at the given places, in rising order.
inline Seen read_cut(const MakeParser& make, std::string_view reply, const std::vector<std::size_t>& cuts) {
  const auto parser = make();
  Watcher watcher;
  std::size_t begin = 0;
  for (const auto cut : cuts) {
    watcher.add(parser->push(reply.substr(begin, cut - begin)));
    begin = cut;
  }
  watcher.add(parser->push(reply.substr(begin)));
  watcher.add(parser->finish());
  return watcher.take();
}

// Uncut, after all splits into two, byte by byte and 50 random ways were seen to give the same.
inline Seen read_every_way(const MakeParser& make, std::string_view reply) {
  const auto whole = read_cut(make, reply, {});
  std::vector<std::size_t> every;
  for (std::size_t cut = 1; cut < reply.size(); ++cut) {
    EXPECT_EQ(read_cut(make, reply, {cut}).log, whole.log) << "cut at " << cut;
    every.push_back(cut);
  }
  EXPECT_EQ(read_cut(make, reply, every).log, whole.log) << "byte by byte";
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::size_t> cuts;
    for (const auto cut : every)
      if (random() % 5 == 0) cuts.push_back(cut);
    EXPECT_EQ(read_cut(make, reply, cuts).log, whole.log) << "round " << round;
  }
  return whole;
}

inline MakeParser maker(const std::string& name, const std::string& tools_json = "[]") {
  return [name, tools = parse_ordered_json(tools_json)] {
    auto made = make_tool_parser(name, tools);
    return std::move(made).value();
  };
}
}  // namespace corisco::gateway::tool_calls::testing
