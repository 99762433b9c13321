// The tree of calls: the longest branch that the rendering goes on from gives its exact ids.
#include "gateway/continuation.h"

#include <gtest/gtest.h>

#include "gateway/conversation_lab.h"

namespace corisco::gateway::fakes {
namespace {
using Ids = std::vector<TokenId>;

// Of texts and ids that say nothing of messages.
struct BareTree {
  CallTree tree;
  std::vector<std::string> end_texts{"<e>"};

  CallTree::Found find(std::string_view rendering, std::string_view messages_json = {}) const {
    CallTree::Search search;
    search.rendering = rendering;
    search.messages_json = messages_json;
    search.end_texts = &end_texts;
    return tree.find(search);
  }
  void add(const CallTree::Match& match, std::string stem, std::string reply, Ids ids, std::uint64_t call,
           std::vector<std::string> tool_call_ids = {}) {
    CallTree::Added added;
    added.match = match;
    added.stem = std::move(stem);
    added.reply = std::move(reply);
    if (ends_with(added.reply, "<e>")) added.reply_end = "<e>";
    added.tool_call_ids = std::move(tool_call_ids);
    added.call.call = CallId{call};
    added.call.ids = SharedPrefix<TokenId>::extend(match.ids, match.ids.size(), std::move(ids));
    tree.add(std::move(added));
  }
};

TEST(Continuation, TheWorkedExample) {
  BareTree bare;
  EXPECT_TRUE(bare.tree.empty());
  bare.add({}, "<u>hi<a>", "\nyo<e>", {1, 2, 3, 4, 5}, 1);
  const std::string rendering = "<u>hi<a>\n yo<e><u>ok<a>\n";
  const auto asked = bare.find(rendering);
  EXPECT_EQ(asked.match.node, nullptr);
  ASSERT_EQ(asked.questions.size(), 1U);
  EXPECT_EQ(asked.questions[0].sampled, "\nyo");
  EXPECT_EQ(asked.questions[0].returned, "\n yo");
  EXPECT_EQ(asked.questions[0].form, "\n yo<e>");
  EXPECT_FALSE(asked.questions[0].has_other_end);
  bare.tree.learn(asked.questions[0]);
  const auto found = bare.find(rendering);
  ASSERT_NE(found.match.node, nullptr);
  EXPECT_TRUE(found.questions.empty());
  EXPECT_EQ(found.match.text_bytes, 15U);
  EXPECT_EQ(found.match.ids, (Ids{1, 2, 3, 4, 5}));
  bare.add(found.match, "<u>ok<a>", "\nfine<e>", {6, 7, 8}, 2);
  EXPECT_EQ(bare.find(rendering + "fine<e><u>").match.ids, (Ids{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(bare.find("<u>hi<a>\nyo<e><u>ok<a>\nfine<e><u>").match.calls, (std::vector{CallId{1}, CallId{2}}));
}

TEST(Continuation, APromptOfIdsGoesOnByItsIds) {
  BareTree bare;
  bare.add({}, "ab", "cd", {1, 2, 3}, 1);
  const Ids prompt = {1, 2, 3, 9};
  const auto match = bare.tree.find(prompt);
  ASSERT_NE(match.node, nullptr);
  EXPECT_EQ(match.ids, (Ids{1, 2, 3}));
  EXPECT_EQ(match.text_bytes, 4U);       // "abcd"
  EXPECT_EQ(match.calls, std::vector<CallId>{CallId{1}});
  bare.add(match, "e", "f", {9, 10}, 2);
  EXPECT_EQ(bare.tree.find(Ids{1, 2, 3, 9, 10, 11}).calls.size(), 2U);
  EXPECT_EQ(bare.tree.find(Ids{1, 2, 3, 9, 11}).calls.size(), 1U);
  EXPECT_NE(bare.tree.find(Ids{1, 2, 3}).node, nullptr);
  EXPECT_EQ(bare.tree.find(Ids{1, 2}).node, nullptr);
  EXPECT_EQ(bare.tree.find(Ids{1, 2, 4, 3}).node, nullptr);   // though its text may be the same
}

TEST(Continuation, AnythingElseGoesOnFromNothing) {
  BareTree bare;
  bare.add({}, "<u>hi<a>", "yo<e>", {1, 2}, 3);
  for (const auto* rendering : {"<u>hi<a>", "<u>hi<a>yo", "", "<u>HI<a>yo<e>", "<u>hi!<a>yo<e>"}) {
    EXPECT_EQ(bare.find(rendering).match.node, nullptr) << rendering;
    EXPECT_EQ(bare.find(rendering).match.text_bytes, 0U);
    EXPECT_TRUE(bare.find(rendering).questions.empty()) << rendering;
  }
  EXPECT_EQ(bare.find("<u>hi<a>YO<e>").questions.size(), 1U);
}

TEST(Continuation, InterleavedBranchesEachContinueTheirOwn) {
  BareTree bare;
  bare.add({}, "main:", "A<e>", {1, 2}, 4);
  bare.add({}, "side:", "B<e>", {10, 11}, 5);
  bare.add(bare.find("main:A<e>?").match, "?", "C<e>", {3, 4}, 6);
  EXPECT_EQ(bare.find("side:B<e>!").match.ids, (Ids{10, 11}));
  EXPECT_EQ(bare.find("main:A<e>?C<e>!").match.ids, (Ids{1, 2, 3, 4}));
  EXPECT_EQ(bare.find("main:A<e>!").match.ids, (Ids{1, 2}));
}

TEST(Continuation, OfTwoChoicesTheOneThatWasTaken) {
  BareTree bare;
  bare.add({}, "p", "a", {1, 2}, 7);
  bare.add({}, "p", "ab", {1, 3}, 8);
  EXPECT_EQ(bare.find("pac").match.ids, (Ids{1, 2}));
  EXPECT_EQ(bare.find("pabc").match.ids, (Ids{1, 3}));     // the longer one
}

TEST(Continuation, OfRepliesThatReadAlikeTheNamedOneThenTheDeliveredThenTheNewest) {
  BareTree bare;
  bare.add({}, "p", "a<e>", {1, 2}, 7, {"call_x"});
  bare.add({}, "p", "a<e>", {1, 8, 9}, 8, {"call_y"});
  bare.add({}, "p", "a<e>", {1, 6}, 9, {"call_z"});
  EXPECT_EQ(bare.find("pa<e>").match.calls.front(), CallId{9});
  bare.tree.note_delivered(CallId{8});
  EXPECT_EQ(bare.find("pa<e>").match.calls.front(), CallId{8});
  EXPECT_EQ(bare.find("pa<e>", R"([{"tool_calls":[{"id":"call_x"}]}])").match.calls.front(), CallId{7});
}

TEST(Continuation, FormsThatANodeKnowsAreBounded) {
  BareTree bare;
  bare.add({}, "p", "a<e>", {1, 2}, 1);
  for (int i = 1; i < 40; ++i) {
    const auto rendering = cat("p", std::string(static_cast<std::size_t>(i), ' '), "a<e>");
    const auto found = bare.find(rendering);
    ASSERT_EQ(found.questions.size(), 1U);
    bare.tree.learn(found.questions[0]);
    EXPECT_NE(bare.find(rendering).match.node, nullptr);
  }
  EXPECT_NE(bare.find("pa<e>").match.node, nullptr);       // as sampled: never forgotten
  EXPECT_EQ(bare.find("p a<e>").match.node, nullptr);
}

// A model has several end tokens, and a template writes one of them.
TEST(Continuation, AnotherEndOfTheTurnIsTheTails) {
  BareTree bare;
  bare.end_texts = {"<e>", "<eot>"};
  bare.add({}, "p", "yes<e>", {1, 2}, 1);
  const auto found = bare.find("pyes<eot>q");
  ASSERT_EQ(found.questions.size(), 1U);
  EXPECT_TRUE(found.questions[0].has_other_end);
  EXPECT_EQ(found.questions[0].form, "yes");
}

TEST(Continuation, AReplyThatWasCutGetsItsEndOnce) {
  BareTree bare;
  bare.add({}, "p", "yes", {1, 2}, 1);
  const auto found = bare.find("pyes<e>q");
  EXPECT_TRUE(found.adds_end);
  bare.add(found.match, "<e>q", "no<e>", {3, 4}, 2);
  EXPECT_FALSE(bare.find("pyes<e>qno<e>").adds_end);
  EXPECT_FALSE(bare.find("x").adds_end);
}

TEST(Continuation, AnEndThatTheModelWroteInItsTextIsNone) {
  BareTree bare;
  bare.add({}, "p", "say <e> twice <e>", {1, 2}, 1);
  const auto found = bare.find("p say <e> twice <e><u>");
  ASSERT_EQ(found.questions.size(), 1U);
  EXPECT_EQ(found.questions[0].returned, " say <e> twice ");
}

// Prompts and requests of a long conversation take memory by what is new in each, also where every second
// prompt is rendered anew.
TEST(Continuation, MemoryGrowsWithDistinctTokens) {
  for (const bool is_edited : {false, true}) {
    Lab lab;
    Json messages = Json::array({message("system", std::string(2000, 's')), message("user", "go")});
    std::size_t num_ids = 0, num_bytes = 0, whole = 0;
    for (int turn = 0; turn < 100; ++turn) {
      auto asked = lab.ask(messages);
      num_ids += asked.shared.ids.num_own();
      num_bytes += asked.shared.request.num_own() + asked.shared.stem.num_own();
      whole = asked.ids.size();
      EXPECT_EQ(asked.shared.ids.items(), asked.ids);
      EXPECT_EQ(asked.shared.base == CallId{}, turn == 0);
      const auto said = cat("turn ", turn, std::string(50, 'x'));
      lab.reply(asked, said);
      const bool is_changed = is_edited && turn % 2 == 1;
      messages.push_back(message("assistant", said + (is_changed ? " edited" : "")));
      messages.push_back(message("user", cat("more ", turn)));
    }
    EXPECT_LT(num_ids, (is_edited ? 4 : 1) * whole) << is_edited;
    EXPECT_LT(num_bytes, (is_edited ? 8 : 3) * whole) << is_edited;
  }
}
}  // namespace
}  // namespace corisco::gateway::fakes
