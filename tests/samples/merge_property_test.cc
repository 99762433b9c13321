// Thousands of random trees of calls: what merging must hold whatever a harness does.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "corisco/base/random.h"
#include "corisco/base/strings.h"
#include "corisco/samples/merge.h"
#include "samples/sample_calls.h"

namespace corisco::samples {
namespace {
// Draws of one seed, one after the other.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(uniform(seed_, counter_++) * bound);
  }
  std::vector<TokenId> tokens(std::uint32_t least, std::uint32_t most) {
    std::vector<TokenId> ids(least + below(most - least + 1));
    for (auto& id : ids) id = static_cast<TokenId>(below(3));  // few ids, so that prefixes collide
    return ids;
  }

 private:
  std::uint64_t seed_, counter_ = 0;
};

std::vector<TokenId> whole_of(const Call& call) {
  auto ids = call.prompt_ids;
  for (const auto& token : call.tokens) ids.push_back(token.id);
  return ids;
}

// A harness that goes on from any earlier call, starts anew, edits the past, or asks for choices.
FinishedRollout random_rollout(Dice& dice) {
  FinishedRollout rollout = make_rollout({});
  const std::uint32_t num_turns = 1 + dice.below(9);
  for (std::uint32_t turn = 0; turn < num_turns; ++turn) {
    std::vector<TokenId> prompt;
    if (!rollout.calls.empty() && dice.below(4) != 0) {
      prompt = whole_of(rollout.calls[dice.below(static_cast<std::uint32_t>(rollout.calls.size()))]);
      if (dice.below(5) == 0) prompt[dice.below(static_cast<std::uint32_t>(prompt.size()))] ^= 1;
    }
    const auto tail = dice.tokens(prompt.empty() ? 1 : 0, 3);
    prompt.insert(prompt.end(), tail.begin(), tail.end());
    const std::uint32_t num_choices = dice.below(5) == 0 ? 1 + dice.below(3) : 1;
    for (std::uint32_t choice = 0; choice < num_choices; ++choice) {
      Call call = make_call(turn, prompt, dice.tokens(0, 4), turn / 2, choice);
      // A log-probability that no other token of the rollout has.
      for (std::size_t i = 0; i < call.tokens.size(); ++i) {
        call.tokens[i].sampled_logprob = -static_cast<float>(1 + 100 * turn + 10 * choice + i);
      }
      call.is_delivered = dice.below(6) != 0;
      call.is_trainable = dice.below(8) != 0;
      call.temperature = dice.below(10) == 0 ? 0.5F : 1.0F;
      rollout.calls.push_back(std::move(call));
    }
  }
  return rollout;
}

// (logprob, which names the token) -> (id, version, turn, temperature).
using Token = std::tuple<TokenId, std::uint64_t, std::int32_t, float>;
using Tokens = std::multimap<float, Token>;

Tokens expected_tokens(const FinishedRollout& rollout) {
  Tokens expected;
  for (const Call& call : rollout.calls) {
    if (!call.is_delivered || !call.is_trainable) continue;
    for (const auto& token : call.tokens) {
      expected.emplace(token.sampled_logprob, Token{token.id, token.policy_version.value,
                                                    static_cast<std::int32_t>(call.turn), call.temperature});
    }
  }
  return expected;
}

Tokens trained_tokens(const std::vector<Sample>& rows) {
  Tokens trained;
  for (const Sample& row : rows) {
    for (std::size_t i = 0; i < row.token_ids.size(); ++i) {
      if (row.loss_mask[i] == 0) continue;
      trained.emplace(row.sampled_logprobs[i], Token{row.token_ids[i], row.policy_versions[i].value,
                                                     row.call_index[i], row.temperature});
    }
  }
  return trained;
}

void expect_well_formed(const std::vector<Sample>& rows) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Sample& row = rows[r];
    const std::size_t length = row.token_ids.size();
    ASSERT_EQ(row.branch, r);
    ASSERT_TRUE(row.loss_mask.size() == length && row.sampled_logprobs.size() == length &&
                row.policy_versions.size() == length && row.call_index.size() == length);
    ASSERT_EQ(row.loss_mask.back(), 1);
    for (std::size_t i = 0; i < length; ++i) {
      ASSERT_EQ(row.loss_mask[i] == 0, row.call_index[i] == -1);
      ASSERT_EQ(row.loss_mask[i] == 0, row.sampled_logprobs[i] == 0.0F);
    }
  }
}

// Every trained token stands behind exactly the tokens that it was sampled behind.
void expect_true_contexts(const FinishedRollout& rollout, const std::vector<Sample>& rows) {
  std::map<float, std::vector<TokenId>> contexts;
  for (const Call& call : rollout.calls) {
    auto context = call.prompt_ids;
    for (const auto& token : call.tokens) {
      contexts[token.sampled_logprob] = context;
      context.push_back(token.id);
    }
  }
  for (const Sample& row : rows) {
    for (std::size_t i = 0; i < row.token_ids.size(); ++i) {
      if (row.loss_mask[i] == 0) continue;
      const std::vector<TokenId> before(row.token_ids.begin(),
                                        row.token_ids.begin() + static_cast<std::ptrdiff_t>(i));
      ASSERT_EQ(before, contexts.at(row.sampled_logprobs[i]));
    }
  }
}

bool are_same(const std::vector<Sample>& a, const std::vector<Sample>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Sample& x, const Sample& y) {
    return x.token_ids == y.token_ids && x.loss_mask == y.loss_mask &&
           x.sampled_logprobs == y.sampled_logprobs && x.policy_versions == y.policy_versions &&
           x.call_index == y.call_index && x.first_turn == y.first_turn && x.branch == y.branch &&
           x.temperature == y.temperature;
  });
}

TEST(MergeProperties, HoldForRandomTreesOfCalls) {
  std::uint64_t num_continued = 0, num_split = 0;
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Dice dice(seed);
    FinishedRollout rollout = random_rollout(dice);
    MergeReport report, transition_report, shuffled_report;
    const auto rows = merge(rollout, MergeLevel::trajectory, report);
    const auto transitions = merge(rollout, MergeLevel::transition, transition_report);
    expect_well_formed(rows);
    expect_true_contexts(rollout, rows);
    const Tokens expected = expected_tokens(rollout);
    ASSERT_EQ(trained_tokens(rows), expected);
    ASSERT_EQ(trained_tokens(transitions), expected);
    ASSERT_LE(rows.size(), transitions.size());

    shuffle(std::span<Call>(rollout.calls), seed);
    ASSERT_TRUE(are_same(rows, merge(rollout, MergeLevel::trajectory, shuffled_report)));
    ASSERT_EQ(report.splits, shuffled_report.splits);

    std::uint64_t num_sampled = 0;
    for (const Call& call : rollout.calls) num_sampled += call.tokens.size();
    ASSERT_EQ(report.num_trained_tokens + report.num_undelivered_tokens + report.num_untrainable_tokens,
              num_sampled);
    ASSERT_EQ(report.num_trained_tokens, expected.size());
    num_continued += transitions.size() - rows.size();
    num_split += report.splits.size();
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(num_continued, 3000U);  // the trees do exercise both
  EXPECT_GT(num_split, 2000U);
}
}  // namespace
}  // namespace corisco::samples
