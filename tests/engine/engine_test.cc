// The engine on a decoder of known logits: how replies end, what is recorded, what is refused.
#include "corisco/engine/engine.h"

#include <gtest/gtest.h>

#include "engine/engine_drive.h"
#include "engine/fake_decoder.h"
#include "engine/sampler.h"

namespace corisco::engine {
namespace {
using Ids = std::vector<TokenId>;

config::Engine options() {
  config::Engine made;
  made.kv_memory_mb = 2;  // 512 tokens of 4096 bytes
  made.block_tokens = 4;
  return made;
}

std::unique_ptr<Engine> make_engine(FakeDecoder& decoder, Ids end_ids = {},
                                    const config::Engine& made = options()) {
  return Engine::create(decoder, made, std::move(end_ids)).value();
}

// The reply without an engine: draw after draw from the fake's own formula.
Ids predict(Ids context, std::uint32_t num_tokens, std::uint64_t key, std::uint64_t weights = 0) {
  SamplingParams params;
  params.key = key;
  Ids reply;
  for (std::uint64_t position = 0; position < num_tokens; ++position) {
    const auto row = FakeDecoder::logits_after(context, weights, 300);
    const DrawRequest request{.sampling = &params, .position = position};
    context.push_back(draw_tokens(row.data(), 300, {&request, 1}).front().id);
    reply.push_back(context.back());
  }
  return reply;
}

TEST(Engine, DrawsWhatTheLogitsOfTheExactContextSay) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  engine->add(make_request(1, {5, 6, 7}, 12, 99));
  const auto reply = finish(*engine).at(1);
  EXPECT_EQ(reply.ids(), predict({5, 6, 7}, 12, 99));
  EXPECT_EQ(reply.finish, FinishReason::length);
  EXPECT_EQ(engine->stats().num_sampled_tokens, 12U);
  EXPECT_EQ(engine->stats().num_prompt_tokens, 3U);
  EXPECT_EQ(engine->stats().num_kv_blocks_used, 0U);
}

TEST(Engine, AnEndTokenIsRecordedAndEndsTheReply) {
  FakeDecoder decoder;
  const Ids expected = predict({5, 6, 7}, 12, 99);
  auto engine = make_engine(decoder, {expected[4]});
  engine->add(make_request(1, {5, 6, 7}, 12, 99));
  auto request = make_request(2, {5, 6, 7}, 12, 99);
  request.sampling.stop_ids = {expected[2]};
  engine->add(std::move(request));
  const auto replies = finish(*engine);
  EXPECT_EQ(replies.at(1).ids(), Ids(expected.begin(), expected.begin() + 5));
  EXPECT_EQ(replies.at(1).finish, FinishReason::stop);
  EXPECT_EQ(replies.at(2).ids(), Ids(expected.begin(), expected.begin() + 3));
  EXPECT_EQ(replies.at(2).finish, FinishReason::stop);
}

TEST(Engine, AFilterSeesEachTokenInsideTheStepAndMayEndTheReply) {
  struct Third final : TokenFilter {
    explicit Third(Ids* seen_ids) : seen(seen_ids) {}
    bool accept(TokenId id) override {
      seen->push_back(id);
      return seen->size() == 3;
    }
    Ids* seen;
  };
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  Ids seen;
  auto request = make_request(1, {5, 6, 7}, 12, 99);
  request.filter = std::make_unique<Third>(&seen);
  engine->add(std::move(request));
  const auto reply = finish(*engine).at(1);
  EXPECT_EQ(reply.finish, FinishReason::stop);
  EXPECT_EQ(reply.ids(), seen);
  EXPECT_EQ(seen, predict({5, 6, 7}, 3, 99));
}

TEST(Engine, EndsAtTheContextWindow) {
  FakeDecoder decoder(300, 16);
  auto engine = make_engine(decoder);
  EXPECT_EQ(engine->context_tokens_max(), 16U);
  engine->add(make_request(1, Ids(13, 3), 100));
  engine->add(make_request(2, Ids(15, 3), 100));
  engine->add(make_request(3, Ids(16, 3), 100));
  const auto replies = finish(*engine);
  EXPECT_EQ(replies.at(1).tokens.size(), 3U);
  EXPECT_EQ(replies.at(1).finish, FinishReason::length);
  EXPECT_EQ(replies.at(2).tokens.size(), 1U);
  EXPECT_EQ(replies.at(3).tokens.size(), 0U);
  EXPECT_EQ(replies.at(3).error->code, Code::invalid_argument);
}

TEST(Engine, RefusesWhatCannotBeComputed) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  engine->add(make_request(1, {}, 4));
  engine->add(make_request(2, {5, 300}, 4));
  engine->add(make_request(3, {-1}, 4));
  const auto replies = finish(*engine);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(replies.at(id).error->code, Code::invalid_argument) << id;
    EXPECT_EQ(replies.at(id).finish, FinishReason::aborted) << id;
  }
  EXPECT_EQ(engine->stats().num_steps, 0U);
}

TEST(Engine, AFullQueueRefusesAsOverloaded) {
  FakeDecoder decoder;
  auto small = options();
  small.queue_max = 2;
  small.sequences_max = 1;
  auto engine = make_engine(decoder, {}, small);
  for (std::uint64_t id = 1; id <= 4; ++id) engine->add(make_request(id, {5}, 2));
  const auto replies = finish(*engine);
  EXPECT_FALSE(replies.at(3).error) << "one runs, two wait";
  EXPECT_EQ(replies.at(4).error->code, Code::overloaded);
}

TEST(Engine, NonFiniteLogitsEndThatRequestAlone) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  for (TokenId id = 1; id <= 3; ++id)
    engine->add(make_request(static_cast<std::uint64_t>(id), {5, id}, 6, static_cast<std::uint64_t>(id)));
  Replies replies;
  collect(*engine, replies);
  decoder.damaged_row = 1;
  collect(*engine, replies);
  decoder.damaged_row = -1;
  replies = finish(*engine, std::move(replies));
  EXPECT_EQ(replies.at(2).tokens.size(), 1U);
  EXPECT_EQ(replies.at(2).error->code, Code::internal);
  EXPECT_EQ(replies.at(1).ids(), predict({5, 1}, 6, 1));
  EXPECT_EQ(replies.at(3).ids(), predict({5, 3}, 6, 3));
  EXPECT_EQ(engine->stats().num_nonfinite, 1U);
}

TEST(Engine, AFailedForwardEndsTheSequencesOfItsStep) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  engine->add(make_request(1, {5, 6}, 6));
  decoder.fails_next = true;
  const auto replies = finish(*engine);
  EXPECT_EQ(replies.at(1).error->code, Code::internal);
  EXPECT_NE(replies.at(1).error->message.find("the device is gone"), std::string::npos);
  EXPECT_EQ(engine->stats().num_kv_blocks_used, 0U);
  engine->add(make_request(2, {5, 6}, 6, 4));
  EXPECT_EQ(finish(*engine).at(2).ids(), predict({5, 6}, 6, 4));
}

TEST(Engine, ACancelledRequestIsGoneAtOnce) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  engine->add(make_request(1, {5, 6}, 50));
  Replies replies;
  collect(*engine, replies);
  engine->cancel({1});
  engine->cancel({1});
  engine->cancel({7});
  EXPECT_FALSE(engine->has_work());
  EXPECT_EQ(engine->stats().num_kv_blocks_used, 0U);
}

TEST(Engine, ReportsAlternatives) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  auto request = make_request(1, {5, 6}, 3);
  request.sampling.top_logprobs = 4;
  engine->add(std::move(request));
  engine->add(make_request(2, {5, 6}, 3));
  const auto replies = finish(*engine);
  ASSERT_EQ(replies.at(1).top_logprobs.size(), 3U);
  EXPECT_EQ(replies.at(1).top_logprobs[2].size(), 4U);
  EXPECT_TRUE(replies.at(2).top_logprobs.empty());
}

// The first half by policy 0, then the weights change: recorded tokens stay, their cache does
// not, and what follows is of the new policy over the whole context.
TEST(Engine, ASuspendedReplyGoesOnUnderTheNewPolicy) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  engine->add(make_request(1, {5, 6, 7, 8, 9}, 8, 31));
  Replies replies;
  for (int i = 0; i < 4; ++i) collect(*engine, replies);
  engine->suspend_all();
  EXPECT_TRUE(engine->has_work());
  EXPECT_EQ(engine->stats().num_kv_blocks_used, 0U);
  decoder.weights = 1;
  engine->set_policy_version({1});
  replies = finish(*engine, std::move(replies));

  const Ids before = predict({5, 6, 7, 8, 9}, 8, 31);
  Ids expected(before.begin(), before.begin() + 4), context{5, 6, 7, 8, 9};
  context.insert(context.end(), expected.begin(), expected.end());
  SamplingParams params;
  params.key = 31;
  for (std::uint64_t position = 4; position < 8; ++position) {
    const auto row = FakeDecoder::logits_after(context, 1, 300);
    const DrawRequest draw{.sampling = &params, .position = position};
    expected.push_back(draw_tokens(row.data(), 300, {&draw, 1}).front().id);
    context.push_back(expected.back());
  }
  EXPECT_EQ(replies.at(1).ids(), expected);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(replies.at(1).tokens[i].policy_version.value, i < 4 ? 0U : 1U);
  EXPECT_EQ(engine->stats().num_recomputed_tokens, 8U);   // of 5 and 3 drawn, fed ones
}

TEST(Engine, ANewPolicyNeverReadsTheCacheOfTheOld) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  engine->add(make_request(1, Ids(20, 7), 4, 8));
  finish(*engine);
  engine->add(make_request(2, Ids(20, 7), 4, 8));
  finish(*engine);
  EXPECT_EQ(engine->stats().num_reused_prompt_tokens, 16U);
  decoder.weights = 1;
  engine->set_policy_version({1});
  engine->add(make_request(3, Ids(20, 7), 4, 8));
  EXPECT_EQ(engine->stats().num_recomputed_tokens, 0U);
  EXPECT_EQ(finish(*engine).at(3).ids(), predict(Ids(20, 7), 4, 8, 1));
  EXPECT_EQ(engine->stats().num_reused_prompt_tokens, 16U);
  EXPECT_EQ(engine->stats().num_recomputed_tokens, 20U);
  engine->release_memory();                // as before an update
  engine->set_policy_version({2});
  engine->add(make_request(4, Ids(9, 7), 1, 8));   // two whole blocks of what was there
  finish(*engine);
  EXPECT_EQ(engine->stats().num_recomputed_tokens, 28U);
  engine->add(make_request(5, Ids(9, 7), 1, 8));
  finish(*engine);
  EXPECT_EQ(engine->stats().num_recomputed_tokens, 28U);
}

TEST(Engine, ReleasedMemoryIsTakenAgainAndItsContentsAreNotMissed) {
  FakeDecoder decoder;
  auto engine = make_engine(decoder);
  engine->add(make_request(1, Ids(20, 7), 6, 8));
  Replies replies;
  collect(*engine, replies);
  collect(*engine, replies);
  EXPECT_EQ(decoder.num_kv_stores, 1);
  engine->release_memory();
  replies = finish(*engine, std::move(replies));
  EXPECT_EQ(decoder.num_kv_stores, 2);
  EXPECT_EQ(replies.at(1).ids(), predict(Ids(20, 7), 6, 8));
}

TEST(Engine, TheContextWindowIsWhatModelConfigAndMemoryAllow) {
  FakeDecoder decoder(300, 100);
  auto made = options();
  made.context_tokens_max = 40;
  EXPECT_EQ(make_engine(decoder, {}, made)->context_tokens_max(), 40U);
  made.context_tokens_max = 101;
  EXPECT_NE(Engine::create(decoder, made, {}).error().message.find("101"), std::string::npos);
  made.context_tokens_max = 0;
  decoder.kv_bytes = 1 << 16;  // 32 tokens
  EXPECT_EQ(make_engine(decoder, {}, made)->context_tokens_max(), 32U);
  made.context_tokens_max = 33;
  EXPECT_EQ(Engine::create(decoder, made, {}).error().code, Code::invalid_argument);
  made.context_tokens_max = 0;
  decoder.kv_bytes = 1 << 22;
  EXPECT_EQ(Engine::create(decoder, made, {}).error().code, Code::invalid_argument);
}
}  // namespace
}  // namespace corisco::engine
