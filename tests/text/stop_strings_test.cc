// Stop strings: the same result however the text is cut, and no part of one is shown.
#include <gtest/gtest.h>

#include "corisco/base/random.h"
#include "corisco/text/detokenizer.h"

namespace corisco::text {
namespace {
struct Outcome {
  std::string text;
  bool is_stopped = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << '"' << outcome.text << (outcome.is_stopped ? "\" stopped" : "\" open");
}

Outcome run(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopStrings watcher(stops);
  Outcome outcome;
  for (const auto& piece : pieces) {
    const auto shown = watcher.push(piece);
    outcome.text += shown.text;
    outcome.is_stopped = shown.is_stopped;
    if (outcome.is_stopped) return outcome;
  }
  outcome.text += watcher.finish();
  return outcome;
}

// The same by the definition: the shortest start of the text that ends with a stop string.
Outcome by_definition(const std::vector<std::string>& stops, const std::string& text) {
  for (std::size_t end = 0; end <= text.size(); ++end) {
    std::size_t longest = 0;
    for (const auto& stop : stops)
      if (!stop.empty() && text.substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
    if (longest > 0) return {text.substr(0, end - longest), true};
  }
  return {text, false};
}

TEST(StopStrings, Table) {
  EXPECT_EQ(run({}, {"any", "thing"}), (Outcome{"anything", false}));
  EXPECT_EQ(run({""}, {"any"}), (Outcome{"any", false}));
  EXPECT_EQ(run({"\n\n"}, {"one\n", "\ntwo"}), (Outcome{"one", true}));
  EXPECT_EQ(run({"END"}, {"the EN"}), (Outcome{"the EN", false}));
  EXPECT_EQ(run({"abcd", "b"}, {"xabcd"}), (Outcome{"xa", true}));      // b is complete first
  EXPECT_EQ(run({"b", "ab"}, {"xab"}), (Outcome{"x", true}));           // together: the longest
  EXPECT_EQ(run({"aab"}, {"a", "a", "a", "b"}), (Outcome{"a", true}));
  EXPECT_EQ(run({"客户"}, {"我的客", "户"}), (Outcome{"我的", true}));
}

TEST(StopStrings, SaysWhichOneItWas) {
  StopStrings watcher({"b", "ab", "zz"});
  EXPECT_EQ(watcher.push("xa").stop, "");
  EXPECT_EQ(watcher.push("bzz").stop, "ab");
  EXPECT_EQ(watcher.push("zz").stop, "");
}

TEST(StopStrings, WhatIsCompleteTooEarlyIsTextButItsBeginningCounts) {
  StopStrings watcher({"</end>"});
  EXPECT_EQ(watcher.push("a</end>b</e", false).text, "a</end>b");
  const auto piece = watcher.push("nd>c");
  EXPECT_TRUE(piece.is_stopped);
  EXPECT_EQ(piece.text, "");
  StopStrings never({"</end>"});
  EXPECT_EQ(never.push("a</end>b</e", false).text, "a</end>b");
  EXPECT_EQ(never.finish(), "</e");
}

TEST(StopStrings, HoldsBackOnlyWhatMayBecomeOne) {
  StopStrings watcher({"</end>"});
  EXPECT_EQ(watcher.push("text <").text, "text ");
  EXPECT_EQ(watcher.push("/b> <").text, "</b> ");
  EXPECT_EQ(watcher.push("/end").text, "");
  const auto last = watcher.push(">more");
  EXPECT_EQ(last.text, "");
  EXPECT_TRUE(last.is_stopped);
  EXPECT_TRUE(watcher.push("more").is_stopped);
  EXPECT_EQ(watcher.finish(), "");
}

TEST(StopStrings, EverySplitGivesTheSame) {
  const std::vector<std::vector<std::string>> lists = {
      {"ab"}, {"aab", "ba"}, {"abab", "bb", "c"}, {"aaa", "a b"}};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::string text;
    for (std::uint64_t i = 0; i < 10; ++i) text += "abc "[static_cast<std::size_t>(uniform(seed, i) * 4)];
    for (const auto& stops : lists) {
      const Outcome expected = by_definition(stops, text);
      for (std::size_t first = 0; first <= text.size(); ++first)
        for (std::size_t second = first; second <= text.size(); ++second) {
          const std::string middle = text.substr(first, second - first);
          ASSERT_EQ(run(stops, {text.substr(0, first), middle, text.substr(second)}), expected)
              << '"' << text << "\" cut at " << first << " and " << second;
        }
    }
  }
}
}  // namespace
}  // namespace corisco::text
