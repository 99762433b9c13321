// The tree of calls: the longest branch whose text the rendering begins with gives its exact ids.
#include "gateway/continuation.h"

#include <gtest/gtest.h>

namespace corisco::gateway {
namespace {
using Ids = std::vector<TokenId>;

TEST(Continuation, TheWorkedExample) {
  CallTree tree;
  EXPECT_TRUE(tree.empty());
  tree.add(tree.find("<u>hi<a>"), "<u>hi<a>", {1, 2, 3}, "yo<e>", {4, 5}, CallId{1});
  const auto match = tree.find("<u>hi<a>yo<e><u>ok<a>");
  ASSERT_NE(match.node, nullptr);
  EXPECT_EQ(match.text_bytes, 13U);
  EXPECT_EQ(match.ids, (Ids{1, 2, 3, 4, 5}));
  tree.add(match, "<u>ok<a>", {6, 7}, "fine<e>", {8}, CallId{2});
  EXPECT_EQ(tree.find("<u>hi<a>yo<e><u>ok<a>fine<e><u>").ids, (Ids{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Continuation, APromptOfIdsGoesOnByItsIds) {
  CallTree tree;
  tree.add(tree.find("ab"), "ab", {1, 2}, "cd", {3}, CallId{1});
  const Ids prompt = {1, 2, 3, 9};
  const auto match = tree.find(prompt);
  ASSERT_NE(match.node, nullptr);
  EXPECT_EQ(match.ids, (Ids{1, 2, 3}));
  EXPECT_EQ(match.text_bytes, 4U);       // "abcd"
  EXPECT_EQ(match.calls, std::vector<CallId>{CallId{1}});
  EXPECT_NE(tree.find(Ids{1, 2, 3}).node, nullptr);
  EXPECT_EQ(tree.find(Ids{1, 2}).node, nullptr);
  EXPECT_EQ(tree.find(Ids{1, 2, 4, 3}).node, nullptr);   // though its text may be the same
}

TEST(Continuation, AnythingElseGoesOnFromNothing) {
  CallTree tree;
  tree.add(tree.find(""), "<u>hi<a>", {1}, "yo<e>", {2}, CallId{3});
  for (const auto* rendering : {"<u>hi<a>", "<u>hi<a>yo", "<u>hi<a>YO<e>", "", "<u>HI<a>yo<e>"}) {
    EXPECT_EQ(tree.find(rendering).node, nullptr) << rendering;
    EXPECT_EQ(tree.find(rendering).text_bytes, 0U);
    EXPECT_TRUE(tree.find(rendering).ids.empty());
  }
}

TEST(Continuation, InterleavedBranchesEachContinueTheirOwn) {
  CallTree tree;
  tree.add(tree.find("main:"), "main:", {1}, "A", {2}, CallId{4});
  tree.add(tree.find("side:"), "side:", {10}, "B", {11}, CallId{5});
  tree.add(tree.find("main:A?"), "?", {3}, "C", {4}, CallId{6});
  EXPECT_EQ(tree.find("side:B!").ids, (Ids{10, 11}));
  EXPECT_EQ(tree.find("main:A?C!").ids, (Ids{1, 2, 3, 4}));
  EXPECT_EQ(tree.find("main:A!").ids, (Ids{1, 2}));
}

TEST(Continuation, OfTwoChoicesTheOneThatWasTaken) {
  CallTree tree;
  const auto root = tree.find("p");
  tree.add(root, "p", {1}, "a", {2}, CallId{7});
  tree.add(root, "p", {1}, "ab", {3}, CallId{8});
  EXPECT_EQ(tree.find("pac").ids, (Ids{1, 2}));
  EXPECT_EQ(tree.find("pabc").ids, (Ids{1, 3}));     // the longer one
  // The same text sampled as other tokens: the first of them, always.
  tree.add(root, "p", {1}, "a", {9}, CallId{9});
  EXPECT_EQ(tree.find("pac").ids, (Ids{1, 2}));
}
}  // namespace
}  // namespace corisco::gateway
