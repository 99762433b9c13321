// What requests ask of the sampler, through the engine on a decoder of known logits: penalties count what the
// sequence has, also when it is computed again; ends wait; filters say what may be drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "corisco/engine/engine.h"
#include "engine/engine_drive.h"
#include "engine/fake_decoder.h"

namespace corisco::engine {
namespace {
using Ids = std::vector<TokenId>;
constexpr std::int64_t kVocabulary = 300;

std::unique_ptr<Engine> make_engine(FakeDecoder& decoder, Ids end_ids = {}) {
  config::Engine options;
  options.kv_memory_mb = 2;
  options.block_tokens = 4;
  return Engine::create(decoder, options, std::move(end_ids)).value();
}

// Greedy replies by a plain implementation: what is seen is counted from the whole history every time.
Ids predict_greedy(Ids context, std::uint32_t num_tokens, const SamplingParams& params) {
  const auto num_prompt = static_cast<std::ptrdiff_t>(context.size());
  Ids reply;
  while (reply.size() < num_tokens) {
    const auto row = FakeDecoder::logits_after(context, 0, kVocabulary);
    std::vector<double> logits(row.begin(), row.end());
    for (TokenId id = 0; id < kVocabulary; ++id) {
      const auto times = std::count(context.begin() + num_prompt, context.end(), id);
      double& logit = logits[static_cast<std::size_t>(id)];
      if (std::ranges::count(context, id) > 0)
        logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
      if (times > 0) logit -= params.presence_penalty + params.frequency_penalty * static_cast<double>(times);
      for (const auto& [biased, bias] : params.logit_bias)
        if (biased == id) logit += bias;
    }
    reply.push_back(static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
    context.push_back(reply.back());
  }
  return reply;
}

EngineRequest greedy(std::uint64_t id, std::uint32_t max_tokens) {
  auto request = make_request(id, {5, 6, 7}, max_tokens);
  request.sampling.temperature = 0;
  request.sampling.logit_bias = {{9, 4.9F}, {10, 4.8F}};   // else each of 300 tokens comes once
  return request;
}

TEST(EngineSampling, PenaltiesCountThePromptAndTheReplyAlsoAcrossARecomputation) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  auto repetition = greedy(1, 30), frequency = greedy(2, 30), plain = greedy(3, 30);
  repetition.sampling.repetition_penalty = 1.5F;
  repetition.sampling.logit_bias.push_back({6, 4.9F});     // of the prompt
  frequency.sampling.frequency_penalty = 0.4F;
  frequency.sampling.presence_penalty = 0.3F;
  const auto sampling = std::map<std::uint64_t, SamplingParams>{
      {1, repetition.sampling}, {2, frequency.sampling}, {3, plain.sampling}};
  for (auto* request : {&repetition, &frequency, &plain}) engine->add(std::move(*request));
  Replies replies;
  for (int i = 0; i < 11; ++i) collect(*engine, replies);
  engine->suspend_all();
  replies = finish(*engine, std::move(replies));
  std::set<Ids> different;
  for (const auto& [id, params] : sampling) {
    EXPECT_EQ(replies.at(id).ids(), predict_greedy({5, 6, 7}, 30, params)) << id;
    different.insert(replies.at(id).ids());
  }
  EXPECT_EQ(different.size(), 3U) << "else the penalties would not have been tested";
}

TEST(EngineSampling, EndTokensWaitForMinTokensAndMayEndNothing) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder, {9});
  const auto ask = [&](std::uint64_t id, std::uint32_t min_tokens, bool ignores_end) {
    auto request = greedy(id, 12);
    request.sampling.logit_bias = {{9, 90}, {10, 80}};     // 9 whenever it may be drawn, then 10
    request.sampling.stop_ids = {10};
    request.sampling.min_tokens = min_tokens;
    request.sampling.ignores_end = ignores_end;
    engine->add(std::move(request));
  };
  ask(1, 0, false);
  ask(2, 5, false);
  ask(3, 0, true);
  ask(4, 20, false);                                       // more than max_tokens
  const auto replies = finish(*engine);
  EXPECT_EQ(replies.at(1).ids(), Ids{9});
  ASSERT_EQ(replies.at(2).ids().size(), 6U);
  EXPECT_EQ(replies.at(2).ids().back(), 9);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(replies.at(2).ids()[i] != 9 && replies.at(2).ids()[i] != 10);
  EXPECT_EQ(replies.at(3).ids(), Ids(12, 9));
  EXPECT_EQ(replies.at(3).finish, FinishReason::length);
  EXPECT_EQ(replies.at(4).ids().size(), 12U);
  EXPECT_EQ(replies.at(4).finish, FinishReason::length);
}

// Allows one token, the one after the last, and none after the third.
struct Countdown final : TokenFilter {
  explicit Countdown(bool fails_then) : fails(fails_then) {}
  Result<std::span<const std::uint32_t>> allowed() override {
    if (num == 3 && fails) return Error{Code::invalid_argument, "the grammar is stuck"};
    words = {num < 3 ? 1U << (num + 20) : 0U};
    return std::span<const std::uint32_t>(words);
  }
  bool accept(TokenId) override {
    ++num;
    return false;
  }
  bool fails;
  unsigned num = 0;
  std::vector<std::uint32_t> words;
};

TEST(EngineSampling, AFilterSaysWhatMayBeDrawnAndEndsItsSequenceAlone) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  for (const std::uint64_t id : {1, 2}) {
    auto request = make_request(id, {5, 6, 7}, 12, id);
    request.filter = std::make_unique<Countdown>(id == 1);
    engine->add(std::move(request));
  }
  engine->add(make_request(3, {5, 6, 7}, 12, 3));
  const auto replies = finish(*engine);
  for (const std::uint64_t id : {1, 2}) {
    EXPECT_EQ(replies.at(id).ids(), (Ids{20, 21, 22}));
    EXPECT_EQ(replies.at(id).finish, FinishReason::aborted);
    EXPECT_EQ(replies.at(id).error->code, Code::invalid_argument);
    for (const auto& token : replies.at(id).tokens) EXPECT_EQ(token.drawn_logprob, 0.0F);
  }
  EXPECT_EQ(replies.at(1).error->message, "the grammar is stuck");
  EXPECT_NE(replies.at(2).error->message.find("no token may follow"), std::string::npos);
  EXPECT_EQ(replies.at(3).tokens.size(), 12U);
  EXPECT_EQ(engine->stats().num_nonfinite, 0U);
  EXPECT_EQ(engine->stats().num_kv_blocks_used, 0U);
}

TEST(EngineSampling, BiasesOfOtherTokensAreRefused) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  auto request = greedy(1, 4);
  request.sampling.logit_bias = {{300, 1}};
  engine->add(std::move(request));
  request = greedy(2, 4);
  request.sampling.repetition_penalty = 0;
  engine->add(std::move(request));
  const auto replies = finish(*engine);
  EXPECT_NE(replies.at(1).error->message.find("logit_bias"), std::string::npos);
  EXPECT_NE(replies.at(2).error->message.find("repetition_penalty"), std::string::npos);
}
}  // namespace
}  // namespace corisco::engine
