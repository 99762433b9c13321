// The log-probabilities of prompts: by hand, against a plain softmax in double precision over a pass without an
// engine, and the same however the prompt was cut, shared, put off or computed again.
#include "engine/prompt_logprobs.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "corisco/base/random.h"
#include "engine/engine_drive.h"
#include "engine/fake_decoder.h"
#include "support/tiny_model.h"

namespace corisco::engine {
namespace {
using Ids = std::vector<TokenId>;
constexpr std::uint32_t kNumTop = 3;

Ids prompt_of(std::uint64_t seed, std::size_t length, double vocabulary) {
  Ids ids;
  for (std::uint64_t i = 0; i < length; ++i) ids.push_back(static_cast<TokenId>(uniform(seed, i) * vocabulary));
  return ids;
}

EngineRequest scored(std::uint64_t id, Ids prompt, std::uint32_t max_tokens = 4) {
  auto request = make_request(id, std::move(prompt), max_tokens, id);
  request.prompt_logprobs = kNumTop;
  return request;
}

// Of one row, by a plain softmax in double precision and a sort.
PromptLogprob plain_score(const float* row, std::int64_t vocabulary, TokenId next, std::uint32_t num_top) {
  double total = 0;
  for (std::int64_t i = 0; i < vocabulary; ++i) total += std::exp(static_cast<double>(row[i]));
  const auto logprob = [&](TokenId id) { return static_cast<float>(row[id] - std::log(total)); };
  Ids order(static_cast<std::size_t>(vocabulary));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [row](TokenId a, TokenId b) { return row[a] > row[b]; });
  PromptLogprob made;
  made.logprob = logprob(next);
  made.rank = 1 + static_cast<std::uint32_t>(std::find(order.begin(), order.end(), next) - order.begin());
  for (std::uint32_t k = 0; k < num_top; ++k) made.top.push_back({order[k], logprob(order[k])});
  return made;
}

void expect_near(const std::vector<PromptLogprob>& made, const std::vector<PromptLogprob>& plain) {
  ASSERT_EQ(made.size(), plain.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_NEAR(made[i].logprob, plain[i].logprob, 2e-5) << i;
    EXPECT_EQ(made[i].rank, plain[i].rank) << i;
    ASSERT_EQ(made[i].top.size(), plain[i].top.size()) << i;
    for (std::size_t k = 0; k < made[i].top.size(); ++k) {
      EXPECT_EQ(made[i].top[k].id, plain[i].top[k].id) << i << ", " << k;
      EXPECT_NEAR(made[i].top[k].logprob, plain[i].top[k].logprob, 2e-5) << i << ", " << k;
    }
  }
}

// Bit for bit.
void expect_equal(const std::vector<PromptLogprob>& made, const std::vector<PromptLogprob>& other, const char* when) {
  ASSERT_EQ(made.size(), other.size()) << when;
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(made[i].logprob, other[i].logprob) << when << ", " << i;
    EXPECT_EQ(made[i].rank, other[i].rank) << when << ", " << i;
    for (std::size_t k = 0; k < made[i].top.size(); ++k) {
      EXPECT_EQ(made[i].top[k].id, other[i].top.at(k).id) << when << ", " << i;
      EXPECT_EQ(made[i].top[k].logprob, other[i].top.at(k).logprob) << when << ", " << i;
    }
  }
}

// Probabilities of 1/8, 2/8, 4/8 and 1/8.
TEST(ScoreRows, ARowByHand) {
  const float row[] = {0.0F, std::log(2.0F), std::log(4.0F), 0.0F, 0.0F, std::log(2.0F), std::log(4.0F), 0.0F};
  const ScoredRow rows[] = {{0, 1, 2}, {1, 3, 0}};
  const auto made = score_rows(row, 4, rows);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_NEAR(made[0].logprob, std::log(0.25), 1e-6);
  EXPECT_EQ(made[0].rank, 2U);
  ASSERT_EQ(made[0].top.size(), 2U);
  EXPECT_EQ(made[0].top[0].id, 2);
  EXPECT_NEAR(made[0].top[0].logprob, std::log(0.5), 1e-6);
  EXPECT_EQ(made[0].top[1].id, 1);
  EXPECT_EQ(made[0].top[1].logprob, made[0].logprob);
  EXPECT_NEAR(made[1].logprob, std::log(0.125), 1e-6);
  EXPECT_EQ(made[1].rank, 4U) << "of equals the lower id comes first";
  EXPECT_TRUE(made[1].top.empty());
}

TEST(ScoreRows, ADamagedRowHasNoLogprob) {
  const float row[] = {0.0F, std::numeric_limits<float>::infinity(), 1.0F, 2.0F};
  const ScoredRow scored_row{0, 0, 1};
  EXPECT_TRUE(std::isnan(score_rows(row, 4, {&scored_row, 1}).at(0).logprob));
}

struct Setting {
  const char* name;
  std::uint32_t step_tokens_max, block_tokens;
};
const Setting kSettings[] = {{"whole", 512, 16}, {"chunks of 7", 7, 16}, {"chunks of 3", 3, 4}, {"blocks of 1", 33, 1}};

struct TinyModel {
  std::unique_ptr<Engine> engine(const Setting& setting) {
    config::Engine options;
    options.kv_memory_mb = 1;
    options.sequences_max = 8;
    options.step_tokens_max = setting.step_tokens_max;
    options.block_tokens = setting.block_tokens;
    options.deterministic = true;
    return Engine::create(*decoder, options, {}).value();
  }
  Ids prompt(std::uint64_t seed, std::size_t length) const { return prompt_of(seed, length, 256); }
  std::vector<PromptLogprob> alone(const Setting& setting, const Ids& ids) {
    const auto made = engine(setting);
    made->add(scored(1, ids));
    return finish(*made).at(1).prompt_logprobs;
  }

  std::unique_ptr<model::Decoder> decoder = corisco::testing::tiny_decoder(/*deterministic=*/true);
};

TEST(PromptLogprobs, AreThoseOfAPlainSoftmaxInChunksOfAnySize) {
  TinyModel model;
  const auto prompt = model.prompt(5, 60);
  const at::NoGradGuard no_grad;
  const auto pass = corisco::testing::one_sequence({prompt.begin(), prompt.end()});
  const at::Tensor logits = model.decoder->logits(model.decoder->hidden(pass)).contiguous();
  std::vector<PromptLogprob> plain;
  for (std::size_t i = 0; i + 1 < prompt.size(); ++i)
    plain.push_back(plain_score(logits.const_data_ptr<float>() + i * 256, 256, prompt[i + 1], kNumTop));
  const auto whole = model.alone(kSettings[0], prompt);
  expect_near(whole, plain);
  for (const auto& setting : kSettings) expect_equal(model.alone(setting, prompt), whole, setting.name);
}

// Two of the four begin alike; a fifth is not scored.
TEST(PromptLogprobs, AreTheSameAloneAndBesideOthers) {
  TinyModel model;
  std::vector<Ids> prompts = {model.prompt(5, 50), model.prompt(5, 50), model.prompt(6, 23), model.prompt(7, 90)};
  prompts[1].push_back(9);
  for (const auto& setting : kSettings) {
    const auto engine = model.engine(setting);
    for (std::size_t i = 0; i < prompts.size(); ++i) engine->add(scored(i + 1, prompts[i]));
    engine->add(make_request(5, prompts[0], 4, 5));
    const auto replies = finish(*engine);
    for (std::size_t i = 0; i < prompts.size(); ++i)
      expect_equal(replies.at(i + 1).prompt_logprobs, model.alone(setting, prompts[i]), setting.name);
    EXPECT_TRUE(replies.at(5).prompt_logprobs.empty());
  }
}

TEST(PromptLogprobs, ACachedBeginningIsComputedForThemAndServesOthers) {
  TinyModel model;
  const auto prompt = model.prompt(5, 60);
  const auto engine = model.engine(kSettings[0]);
  engine->add(make_request(1, prompt, 4, 77));
  const auto plain = finish(*engine).at(1);
  auto request = scored(2, prompt);
  request.sampling.key = 77;
  engine->add(std::move(request));
  const auto reply = finish(*engine).at(2);
  EXPECT_EQ(engine->stats().num_reused_prompt_tokens, 0U);
  expect_equal(reply.prompt_logprobs, model.alone(kSettings[0], prompt), "cached");
  EXPECT_TRUE(are_equal(reply, plain)) << "they change no draw";
  engine->add(make_request(3, prompt, 4, 77));
  finish(*engine);
  EXPECT_EQ(engine->stats().num_reused_prompt_tokens, 48U);
}

// On the decoder of known logits.
std::vector<PromptLogprob> predict(const Ids& prompt, std::uint64_t weights, std::int64_t vocabulary = 300) {
  std::vector<PromptLogprob> made;
  for (std::size_t i = 1; i < prompt.size(); ++i) {
    const auto row = FakeDecoder::logits_after({prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(i)},
                                               weights, vocabulary);
    made.push_back(plain_score(row.data(), vocabulary, prompt[i], kNumTop));
  }
  return made;
}

std::unique_ptr<Engine> make_engine(FakeDecoder& decoder, std::uint32_t step_tokens_max) {
  config::Engine options;
  options.kv_memory_mb = 1;
  options.block_tokens = 4;
  options.step_tokens_max = step_tokens_max;
  return Engine::create(decoder, options, {}).value();
}

TEST(PromptLogprobs, OfAPromptThatAnUpdateStoppedAreTheNewPolicys) {
  FakeDecoder decoder;
  const auto engine = make_engine(decoder, 7);
  const auto prompt = prompt_of(3, 40, 300);
  engine->add(scored(1, prompt));
  Replies replies;
  for (int i = 0; i < 3; ++i) collect(*engine, replies);
  EXPECT_TRUE(replies.empty()) << "21 of 40 tokens are computed";
  decoder.weights = 1;
  engine->set_policy_version({1});
  expect_near(finish(*engine).at(1).prompt_logprobs, predict(prompt, 1));
}

TEST(PromptLogprobs, AreToldOnceOfAReplyThatIsComputedAgain) {
  FakeDecoder decoder;
  const auto engine = make_engine(decoder, 64);
  const auto prompt = prompt_of(3, 40, 300);
  engine->add(scored(1, prompt, 6));
  Replies replies;
  for (int i = 0; i < 2; ++i) collect(*engine, replies);
  decoder.weights = 1;
  engine->set_policy_version({1});
  replies = finish(*engine, std::move(replies));
  EXPECT_EQ(replies.at(1).tokens.size(), 6U);
  expect_near(replies.at(1).prompt_logprobs, predict(prompt, 0));
}

// 64 tokens of memory, and two sequences that grow to 40 each.
TEST(PromptLogprobs, ArePreemptedWithoutLossOrDouble) {
  for (const std::uint32_t step_tokens_max : {3U, 64U}) {
    FakeDecoder decoder;
    decoder.kv_bytes = 1 << 14;
    const auto engine = make_engine(decoder, step_tokens_max);
    for (std::uint64_t id = 1; id <= 4; ++id) engine->add(scored(id, prompt_of(id, 20, 300), 20));
    const auto replies = finish(*engine);
    EXPECT_GT(engine->stats().num_preempted, 0U);
    for (std::uint64_t id = 1; id <= 4; ++id) {
      EXPECT_EQ(replies.at(id).tokens.size(), 20U);
      expect_near(replies.at(id).prompt_logprobs, predict(prompt_of(id, 20, 300), 0));
    }
  }
}

TEST(PromptLogprobs, OfOneTokenThereAreNoneAndACancelledPromptLeavesNothing) {
  FakeDecoder decoder;
  const auto engine = make_engine(decoder, 7);
  engine->add(scored(1, {5}));
  engine->add(scored(2, prompt_of(3, 40, 300)));
  Replies replies;
  collect(*engine, replies);
  engine->cancel({2});
  replies = finish(*engine, std::move(replies));
  EXPECT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies.at(1).tokens.size(), 4U);
  EXPECT_TRUE(replies.at(1).prompt_logprobs.empty());
  EXPECT_EQ(engine->stats().num_kv_blocks_used, 0U);
}

// Beside one that goes on; its blocks serve the next.
TEST(PromptLogprobs, AReplyOfNoTokensHasThemAndDrawsNothing) {
  for (const std::uint32_t step_tokens_max : {3U, 64U}) {
    FakeDecoder decoder;
    const auto engine = make_engine(decoder, step_tokens_max);
    const auto prompt = prompt_of(3, 40, 300);
    engine->add(scored(1, prompt, 0));
    engine->add(scored(2, prompt_of(4, 20, 300), 5));
    auto replies = finish(*engine);
    EXPECT_TRUE(replies.at(1).tokens.empty());
    EXPECT_EQ(replies.at(1).finish, FinishReason::length);
    EXPECT_FALSE(replies.at(1).error);
    expect_near(replies.at(1).prompt_logprobs, predict(prompt, 0));
    EXPECT_EQ(replies.at(2).tokens.size(), 5U);
    EXPECT_EQ(engine->stats().num_sampled_tokens, 5U);
    EXPECT_EQ(engine->stats().num_kv_blocks_used, 0U);
    engine->add(make_request(3, prompt, 0));
    replies = finish(*engine);
    EXPECT_TRUE(replies.at(3).tokens.empty() && replies.at(3).prompt_logprobs.empty());
    EXPECT_EQ(engine->stats().num_reused_prompt_tokens, 36U);
  }
}

TEST(PromptLogprobs, ADamagedRowEndsThatRequestAlone) {
  FakeDecoder decoder;
  const auto engine = make_engine(decoder, 64);
  decoder.damaged_row = 2;                 // of the scored ones: the draws' rows are two
  engine->add(scored(1, {5, 6, 7, 8, 9}));
  engine->add(make_request(2, {5, 6}, 1));
  const auto replies = finish(*engine);
  ASSERT_TRUE(replies.at(1).error);
  EXPECT_EQ(replies.at(1).error->code, Code::internal);
  EXPECT_NE(replies.at(1).error->message.find("after 3 tokens"), std::string::npos);
  EXPECT_TRUE(replies.at(1).prompt_logprobs.empty());
  EXPECT_EQ(replies.at(2).tokens.size(), 1U);
  EXPECT_EQ(engine->stats().num_nonfinite, 1U);
}

// Rows of 8 MB, of which 32 MB are made at a time.
TEST(PromptLogprobs, ALargeVocabularysRowsAreMadeInGroups) {
  constexpr std::int64_t kVocabulary = 1 << 21;
  FakeDecoder decoder(kVocabulary);
  const auto engine = make_engine(decoder, 64);
  const Ids prompt = {5, 6, 7, 2000000, 8, 9};
  engine->add(scored(1, prompt, 1));
  const auto reply = finish(*engine).at(1);
  EXPECT_EQ(decoder.logit_rows_max, 4);
  ASSERT_EQ(reply.prompt_logprobs.size(), 5U);
  for (const std::size_t i : {0U, 4U}) {   // one of each group
    const Ids context(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    const auto row = FakeDecoder::logits_after(context, 0, kVocabulary);
    const auto& made = reply.prompt_logprobs[i];
    const auto most = std::max_element(row.begin(), row.end());
    EXPECT_EQ(made.top.at(0).id, most - row.begin());
    EXPECT_NEAR(made.top.at(0).logprob - made.logprob, *most - row[static_cast<std::size_t>(prompt[i + 1])], 1e-4);
  }
}
}  // namespace
}  // namespace corisco::engine
