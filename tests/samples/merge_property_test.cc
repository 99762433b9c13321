// Thousands of random trees of calls: what merging must hold whatever a harness does.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <set>

#include "corisco/base/random.h"
#include "corisco/base/strings.h"
#include "corisco/samples/merge.h"
#include "samples/plain_merge.h"
#include "samples/random_rollout.h"

namespace corisco::samples {
namespace {
using Seconds = std::chrono::duration<double>;
constexpr double kNumRollouts = 3;   // R: what a rollout weighs is 1/R

Seconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

// What a gradient is the sum of: a token behind its whole context, and its share of the loss.
struct Term {
  std::uint64_t context = 0;   // hash of all tokens before it
  TokenId target = 0;
  float logprob = 0;
  std::uint64_t policy_version = 0;
  std::int32_t turn = 0;
  float temperature = 1.0F;
  double weight = 0;
  auto operator<=>(const Term&) const = default;
};
using Terms = std::multiset<Term>;

std::uint64_t num_trained(const std::vector<Sample>& rows) {
  std::uint64_t count = 0;
  for (const Sample& row : rows) count += static_cast<std::uint64_t>(std::ranges::count(row.loss_mask, 1));
  return count;
}

Terms terms_of(const std::vector<Sample>& rows) {
  const double weight = 1 / (kNumRollouts * static_cast<double>(num_trained(rows)));
  Terms terms;
  for (const Sample& row : rows) {
    for (std::size_t i = 0; i < row.token_ids.size(); ++i) {
      if (row.loss_mask[i] == 0) continue;
      terms.insert({hash_ids(std::span(row.token_ids).first(i)), row.token_ids[i], row.sampled_logprobs[i],
                    row.policy_versions[i].value, row.call_index[i], row.temperature, weight});
    }
  }
  return terms;
}

// As they were sampled: without any row.
Terms terms_of(const FinishedRollout& rollout, const MergeLimits& limits) {
  const auto calls = trained_calls(rollout, limits);
  double num_tokens = 0;
  for (const Call* call : calls) num_tokens += static_cast<double>(call->tokens.size());
  Terms terms;
  for (const Call* call : calls) {
    auto context = call->prompt_ids.items();
    for (const auto& token : call->tokens) {
      terms.insert({hash_ids(context), token.id, token.sampled_logprob, token.policy_version.value,
                    static_cast<std::int32_t>(call->turn), call->temperature, 1 / (kNumRollouts * num_tokens)});
      context.push_back(token.id);
    }
  }
  return terms;
}

double sum_of_weights(const Terms& terms) {
  double sum = 0;
  for (const Term& term : terms) sum += term.weight;
  return sum;
}

void expect_well_formed(const std::vector<Sample>& rows) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Sample& row = rows[r];
    const std::size_t length = row.token_ids.size();
    ASSERT_EQ(row.branch, r);
    ASSERT_TRUE(row.loss_mask.size() == length && row.sampled_logprobs.size() == length &&
                row.policy_versions.size() == length && row.call_index.size() == length);
    ASSERT_EQ(row.loss_mask.back(), 1);
    ASSERT_EQ(row.loss_mask.front(), 0);   // something to be predicted from
    for (std::size_t i = 0; i < length; ++i) {
      ASSERT_EQ(row.loss_mask[i] == 0, row.call_index[i] == -1);
      ASSERT_EQ(row.loss_mask[i] == 0, row.sampled_logprobs[i] == 0.0F);
    }
  }
}

// Where an account says that a reply is, there it is; where it says that none is, a reason holds.
void expect_true_accounts(const FinishedRollout& rollout, const Merged& merged, const MergeLimits& limits) {
  std::map<CallId, const Call*> calls;
  for (const Call& call : rollout.calls) calls[call.id] = &call;
  ASSERT_EQ(merged.accounts.size(), rollout.calls.size());
  std::set<CallId> in_rows;
  for (const CallAccount& account : merged.accounts) {
    const Call& call = *calls.at(account.call);
    ASSERT_EQ(account.num_tokens, call.tokens.size());
    ASSERT_EQ(account.branch >= 0, account.reason == UntrainedReason::none && !call.tokens.empty());
    if (account.branch < 0) continue;
    in_rows.insert(call.id);
    const Sample& row = merged.rows.at(static_cast<std::size_t>(account.branch));
    ASSERT_EQ(account.row_begin, call.prompt_ids.size());
    for (std::size_t i = 0; i < call.tokens.size(); ++i)
      ASSERT_EQ(row.sampled_logprobs.at(account.row_begin + i), call.tokens[i].sampled_logprob);
  }
  std::set<CallId> expected;
  for (const Call* call : trained_calls(rollout, limits)) expected.insert(call->id);
  ASSERT_EQ(in_rows, expected);
}

bool are_same(const Merged& a, const Merged& b) {
  const bool has_same_rows =
      std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(), [](const Sample& x, const Sample& y) {
        return x.token_ids == y.token_ids && x.loss_mask == y.loss_mask && x.sampled_logprobs == y.sampled_logprobs &&
               x.policy_versions == y.policy_versions && x.call_index == y.call_index &&
               x.first_turn == y.first_turn && x.branch == y.branch && x.temperature == y.temperature;
      });
  return has_same_rows && std::equal(a.accounts.begin(), a.accounts.end(), b.accounts.begin(), b.accounts.end(),
                                     [](const CallAccount& x, const CallAccount& y) {
                                       return x.call == y.call && x.branch == y.branch && x.reason == y.reason &&
                                              x.row_begin == y.row_begin && x.split == y.split;
                                     });
}

struct Totals {
  std::uint64_t num_continued = 0, num_split = 0, num_merges = 0;
  Seconds merging{0};
  MergeReport report;

  Merged merge(const FinishedRollout& rollout, MergeLevel level, const MergeLimits& limits) {
    const auto begun = now();
    auto merged = samples::merge(rollout, level, limits);
    merging += now() - begun;
    ++num_merges;
    return merged;
  }
};

void check(FinishedRollout rollout, const MergeLimits& limits, std::uint64_t seed, Totals& totals) {
  const auto merged = totals.merge(rollout, MergeLevel::trajectory, limits);
  const auto transitions = totals.merge(rollout, MergeLevel::transition, limits);
  for (const auto* each : {&merged, &transitions}) {
    expect_well_formed(each->rows);
    expect_true_accounts(rollout, *each, limits);
    if (::testing::Test::HasFatalFailure()) return;
  }
  const Terms expected = terms_of(rollout, limits);
  ASSERT_EQ(terms_of(merged.rows), expected);
  ASSERT_EQ(terms_of(transitions.rows), expected);
  if (!expected.empty()) {
    ASSERT_NEAR(sum_of_weights(expected), 1 / kNumRollouts, 1e-12);
  }

  const auto plain = plain_merge(rollout, limits);
  ASSERT_EQ(merged.rows.size(), plain.size());
  for (std::size_t r = 0; r < plain.size(); ++r) {
    ASSERT_EQ(merged.rows[r].token_ids, plain[r]);
    if (limits.row_tokens_max != 0) {
      ASSERT_LE(plain[r].size(), limits.row_tokens_max);
    }
  }

  MergeReport report;
  report.add(merged.accounts);
  ASSERT_TRUE(report.balances());
  ASSERT_EQ(report.num_trained_tokens, expected.size());
  ASSERT_EQ(report.num_rows, merged.rows.size());
  totals.report.add(merged.accounts);
  totals.num_continued += transitions.rows.size() - merged.rows.size();
  for (const auto& [cause, num_rows] : report.splits) totals.num_split += num_rows;

  // What a call says it goes on from only makes the search shorter.
  for (Call& call : rollout.calls) call.base = {};
  ASSERT_TRUE(are_same(merged, totals.merge(rollout, MergeLevel::trajectory, limits)));
  shuffle(std::span<Call>(rollout.calls), seed);
  ASSERT_TRUE(are_same(merged, totals.merge(rollout, MergeLevel::trajectory, limits)));
}

TEST(MergeProperties, HoldForRandomTreesOfCalls) {
  Totals totals;
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Dice dice(seed);
    const auto rollout = random_rollout(dice);
    check(rollout, {}, seed, totals);
    const MergeLimits limits{.prompt_tokens_max = dice.below(2) * dice.below(20),
                             .reply_tokens_max = dice.below(2) * dice.below(4),
                             .row_tokens_max = dice.below(20)};
    check(rollout, limits, seed, totals);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(totals.num_continued, 2000U);  // the trees do exercise all of it
  EXPECT_GT(totals.num_split, 2000U);
  for (std::size_t reason = 1; reason < kNumUntrainedReasons; ++reason)
    EXPECT_GT(totals.report.num_untrained_tokens[reason], 100U) << to_string(static_cast<UntrainedReason>(reason));
  for (const auto cause : {SplitCause::forked, SplitCause::prefix_changed, SplitCause::temperature_changed,
                           SplitCause::history_changed, SplitCause::new_conversation})
    EXPECT_GT(totals.report.splits[cause], 100U) << to_string(cause);

  const double per_second = static_cast<double>(totals.num_merges) / totals.merging.count();
  std::cout << fixed(per_second, 0) << " rollouts merged per second\n";
  EXPECT_GT(per_second, 2000);
}

// 1000 turns, 100 thousand tokens: each prompt is the one before, its reply and a little more.
TEST(MergeProperties, ALongConversationIsOneRowAtOnce) {
  FinishedRollout rollout = make_rollout({});
  SharedPrefix<TokenId> prompt;
  std::vector<TokenId> tail{1, 2, 3};
  for (std::uint32_t turn = 0; turn < 1000; ++turn) {
    prompt = SharedPrefix<TokenId>::extend(prompt, prompt.size(), tail);
    Call call = make_call(turn, {}, std::vector<TokenId>(40, static_cast<TokenId>(turn)));
    call.prompt_ids = prompt;
    if (turn > 0) call.base = rollout.calls.back().id;
    tail.assign(100, 7);
    for (std::size_t i = 0; i < call.tokens.size(); ++i) tail[i] = call.tokens[i].id;
    rollout.calls.push_back(std::move(call));
  }
  const auto begun = now();
  const auto merged = merge(rollout, MergeLevel::trajectory);
  const auto spent = now() - begun;
  ASSERT_EQ(merged.rows.size(), 1U);
  EXPECT_EQ(merged.rows[0].token_ids.size(), 3U + 999U * 100U + 40U);
  EXPECT_EQ(num_trained(merged.rows), 40000U);
  std::cout << fixed(1000 * spent.count(), 1) << " ms\n";
  EXPECT_LT(spent.count(), 1);   // a few hundredths, unless sanitizers or others slow it
}
}  // namespace
}  // namespace corisco::samples
