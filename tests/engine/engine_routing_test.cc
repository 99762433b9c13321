// The experts that a reply's tokens went to: recorded once, whatever the engine did to them meanwhile.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "engine/engine_drive.h"
#include "engine/fake_decoder.h"
#include "support/tiny_model.h"

namespace corisco::engine {
namespace {
using Ids = std::vector<TokenId>;
using Experts = std::vector<model::ExpertId>;

// Three layers, the second without experts: 2 x 2 a token.
std::unique_ptr<model::Decoder> expert_decoder() {
  model::DecoderConfig config = testing::tiny_config();
  config.num_layers = 3;
  config.num_experts = 6;
  config.experts_per_token = 2;
  config.expert_intermediate_size = 24;
  config.expert_layers = {true, false, true};
  config.normalises_expert_weights = true;
  config.max_position = 160;
  auto decoder = model::Decoder::random(config, "float32", true, 5);
  const at::NoGradGuard no_grad;
  for (const auto& parameter : decoder->parameters()) parameter.tensor.mul_(4);   // routers with opinions
  return decoder;
}

Experts used_by(model::Decoder& decoder, const Ids& ids) {
  model::ForwardInput input = testing::one_sequence({ids.begin(), ids.end()});
  Experts used;
  input.used_experts = &used;
  const at::NoGradGuard no_grad;
  (void)decoder.hidden(input);
  return used;
}

// What a plain pass over prompt and reply uses, the last token left out.
Experts expected(model::Decoder& decoder, Ids prompt, const Reply& reply) {
  for (const auto id : reply.ids()) prompt.push_back(id);
  prompt.pop_back();
  return used_by(decoder, prompt);
}

Ids prompt_of(std::uint64_t id) {
  Ids prompt;
  for (TokenId i = 0; i < 37; ++i) prompt.push_back((7 * i + 3) % 250);      // 9 whole blocks of 4
  for (TokenId i = 0; i < static_cast<TokenId>(id % 3); ++i) prompt.push_back(100 + static_cast<TokenId>(id) + i);
  return prompt;
}

std::unique_ptr<Engine> make_engine(model::Decoder& decoder, bool shares, std::uint32_t kv_tokens) {
  config::Engine options;
  options.block_tokens = 4;
  options.step_tokens_max = 23;            // prompts come in chunks
  options.share_prefixes = shares;
  const auto bytes = kv_tokens * (decoder.kv_bytes_per_token() + 2 * decoder.config().experts_per_row());
  options.kv_memory_mb = static_cast<std::uint32_t>(bytes >> 20) + 1;
  return Engine::create(decoder, options, {}, true).value();
}

void expect_routing_of_a_plain_pass(bool shares, std::uint32_t sequences, EngineStats& stats) {
  const auto decoder = expert_decoder();
  const auto engine = make_engine(*decoder, shares, 2048);
  for (std::uint64_t id = 1; id <= sequences; ++id) engine->add(make_request(id, prompt_of(id), 50, id));
  const auto replies = finish(*engine);
  stats = engine->stats();
  for (const auto& [id, reply] : replies)
    EXPECT_EQ(reply.routed_experts, expected(*decoder, prompt_of(id), reply)) << id;
}

TEST(EngineRouting, IsThatOfOnePassOverPromptAndReply) {
  EngineStats stats;
  expect_routing_of_a_plain_pass(false, 5, stats);
  EXPECT_EQ(stats.num_reused_prompt_tokens, 0U);
}

TEST(EngineRouting, PromptTokensFoundInTheCacheHaveTheirs) {
  EngineStats stats;
  expect_routing_of_a_plain_pass(true, 5, stats);
  EXPECT_GT(stats.num_reused_prompt_tokens, 100U);
}

// A megabyte is few tokens for sixty sequences: some give up their blocks, and begin again.
TEST(EngineRouting, APreemptedSequenceKeepsIts) {
  const auto decoder = expert_decoder();
  config::Engine options;
  options.block_tokens = 4;
  options.kv_memory_mb = 1;
  options.share_prefixes = false;
  const auto engine = Engine::create(*decoder, options, {}, true).value();
  for (std::uint64_t id = 1; id <= 60; ++id) engine->add(make_request(id, prompt_of(id), 60, id));
  const auto replies = finish(*engine);
  EXPECT_GT(engine->stats().num_preempted, 0U);
  for (const auto& [id, reply] : replies)
    ASSERT_EQ(reply.routed_experts, expected(*decoder, prompt_of(id), reply)) << id;
}

// Half the reply under one version's routers, half under another's: each token as it was first computed.
TEST(EngineRouting, NewWeightsDoNotChangeWhatIsKnown) {
  const auto decoder = expert_decoder();
  const auto engine = make_engine(*decoder, true, 2048);
  engine->add(make_request(1, prompt_of(1), 12, 1));
  Replies replies;
  while (replies[1].tokens.size() < 6) collect(*engine, replies);
  Ids before = prompt_of(1);
  for (const auto id : replies[1].ids()) before.push_back(id);
  before.pop_back();
  const Experts first = used_by(*decoder, before);
  {
    const at::NoGradGuard no_grad;
    for (const auto& parameter : decoder->parameters())
      if (parameter.name.ends_with("mlp.gate.weight")) parameter.tensor.neg_();
    decoder->refresh_derived();
  }
  engine->suspend_all();
  engine->release_memory();
  engine->set_policy_version({1});
  replies = finish(*engine, std::move(replies));
  const Experts got = replies[1].routed_experts, after = expected(*decoder, prompt_of(1), replies[1]);
  ASSERT_EQ(got.size(), after.size());
  const auto half = static_cast<std::ptrdiff_t>(first.size());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), got.begin()));
  EXPECT_FALSE(std::equal(first.begin(), first.end(), after.begin()));
  EXPECT_TRUE(std::equal(after.begin() + half, after.end(), got.begin() + half));
}

TEST(EngineRouting, IsNotRecordedUnlessAskedFor) {
  const auto decoder = expert_decoder();
  const auto engine = Engine::create(*decoder, config::Engine{}, {}).value();
  engine->add(make_request(1, {1, 2, 3}, 4));
  EXPECT_TRUE(finish(*engine).at(1).routed_experts.empty());
}

TEST(EngineRouting, AModelWithoutExpertsIsRefusedByTheKeysName) {
  FakeDecoder decoder;
  const auto made = Engine::create(decoder, config::Engine{}, {}, true);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::invalid_argument);
  EXPECT_NE(made.error().message.find("trainer.replay_routing"), std::string::npos);
}
}  // namespace
}  // namespace corisco::engine
