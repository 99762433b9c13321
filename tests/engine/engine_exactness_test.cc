// A reply depends on its prompt and key alone: whatever else runs, in whatever batch, chunk,
// block size or budget, with or without shared prefixes, preempted or not, in a new engine or not.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <string>

#include "corisco/base/random.h"
#include "engine/engine_drive.h"
#include "engine/fake_decoder.h"
#include "engine/four_layers.h"

namespace corisco::engine {
namespace {
using Ids = std::vector<TokenId>;

struct Setting {
  const char* name;
  std::uint32_t sequences_max, step_tokens_max, block_tokens;
  bool share_prefixes;
  std::uint32_t kv_tokens;  // of memory; few make preemption necessary
};

const Setting kSettings[] = {
    {"wide", 64, 512, 16, true, 2048},
    {"no_sharing", 64, 512, 16, false, 2048},
    {"chunks_of_7", 64, 7, 16, true, 2048},
    {"three_tokens", 64, 3, 16, true, 2048},
    {"blocks_of_1", 64, 512, 1, true, 2048},
    {"blocks_of_1_unshared", 64, 33, 1, false, 2048},
    {"four_at_once", 4, 64, 16, true, 2048},
    {"preempted", 64, 64, 4, true, 256},
    {"preempted_unshared", 64, 512, 1, false, 256},
};

TokenId token(double u, std::int64_t vocabulary) {
  return static_cast<TokenId>(u * static_cast<double>(vocabulary));
}

// Sixteen requests: groups of four siblings with one prompt, of different lengths and replies;
// some truncate, some are greedy.
std::vector<EngineRequest> mixed_requests(std::int64_t vocabulary) {
  std::vector<EngineRequest> requests;
  for (std::uint64_t id = 1; id <= 16; ++id) {
    const std::uint64_t group = (id - 1) / 4;
    Ids prompt;
    for (std::uint64_t i = 0; i < 3 + group * 23; ++i)
      prompt.push_back(token(uniform(i < 20 ? 1 : group, i), vocabulary));
    auto request = make_request(id, prompt, 4 + static_cast<std::uint32_t>(id), hash_words({id}));
    if (id % 4 == 1) request.sampling.top_p = 0.9F;
    if (id % 4 == 2) request.sampling.temperature = 0.7F;
    if (id == 7) request.sampling.temperature = 0;
    requests.push_back(std::move(request));
  }
  return requests;
}

class Exactness {
 public:
  explicit Exactness(model::Decoder& decoder) : decoder_(decoder) {}

  Replies run(const Setting& setting, std::uint64_t only = 0, EngineStats* stats = nullptr) {
    config::Engine options;
    options.sequences_max = setting.sequences_max;
    options.step_tokens_max = setting.step_tokens_max;
    options.block_tokens = setting.block_tokens;
    options.share_prefixes = setting.share_prefixes;
    options.deterministic = true;
    const std::int64_t kv_bytes = setting.kv_tokens * decoder_.kv_bytes_per_token();
    options.kv_memory_mb = static_cast<std::uint32_t>(kv_bytes >> 20);
    auto engine = Engine::create(decoder_, options, {}).value();
    for (auto& request : mixed_requests(decoder_.config().vocab_size))
      if (only == 0 || request.id.value == only) engine->add(std::move(request));
    auto replies = finish(*engine);
    if (stats != nullptr) *stats = engine->stats();
    return replies;
  }

 private:
  model::Decoder& decoder_;
};

// On each setting all together; compared with each request alone in an engine of its own.
void expect_same_in_every_setting(model::Decoder& decoder) {
  Exactness exactness(decoder);
  Replies alone;
  for (std::uint64_t id = 1; id <= 16; ++id) alone[id] = exactness.run(kSettings[0], id).at(id);
  std::uint64_t num_preempted = 0, num_reused = 0;
  for (const auto& setting : kSettings) {
    EngineStats stats;
    const auto together = exactness.run(setting, 0, &stats);
    num_preempted += stats.num_preempted;
    num_reused += stats.num_reused_prompt_tokens;
    for (const auto& [id, reply] : alone)
      EXPECT_TRUE(are_equal(reply, together.at(id))) << setting.name << ", request " << id;
  }
  EXPECT_GT(num_preempted, 0U);
  EXPECT_GT(num_reused, 0U);
}

TEST(EngineExactness, ByTheFakeDecoder) {
  FakeDecoder decoder(300, 200);
  decoder.kv_bytes = 1 << 14;  // 64 tokens in a megabyte
  expect_same_in_every_setting(decoder);
}

// The same bytes per token.
std::unique_ptr<model::Decoder> tiny_decoder() { return model::Decoder::random(four_layers(), "float32", true, 7); }

// The same with experts in three layers and windows in two.
std::unique_ptr<model::Decoder> expert_decoder() {
  model::DecoderConfig config = four_layers();
  config.norms_heads = true;
  config.num_experts = 6;
  config.experts_per_token = 2;
  config.expert_intermediate_size = 40;
  config.expert_layers = {true, false, true, true};
  config.normalises_expert_weights = true;
  config.sliding_window = 21;
  config.sliding_layers = {false, true, true, false};
  return model::Decoder::random(config, "float32", true, 7);
}

TEST(EngineExactness, ByARealDecoder) {
  const auto decoder = tiny_decoder();
  ASSERT_EQ(decoder->kv_bytes_per_token(), 1 << 14);
  expect_same_in_every_setting(*decoder);
}

TEST(EngineExactness, ByADecoderWithExpertsAndWindows) {
  const auto decoder = expert_decoder();
  ASSERT_EQ(decoder->kv_bytes_per_token(), 1 << 14);
  expect_same_in_every_setting(*decoder);
}

// Three layers with a state and one with keys and values: 4096 bytes per token and 16,896 of state.
std::unique_ptr<model::Decoder> hybrid_decoder() {
  model::DecoderConfig config = four_layers();
  config.norms_heads = config.norms_from_one = config.gates_attention = true;
  config.rope.partial_factor = 0.25;
  config.delta = {.num_key_heads = 2, .num_value_heads = 4, .key_dim = 16, .value_dim = 16, .kernel = 4};
  config.linear_layers = {true, true, true, false};
  return model::Decoder::random(config, "float32", true, 7);
}

TEST(EngineExactness, ByADecoderWithRecurrentLayers) {
  const auto decoder = hybrid_decoder();
  ASSERT_EQ(decoder->kv_bytes_per_token(), 4096);
  ASSERT_EQ(decoder->state_bytes(), 3 * 2 * (3 * 64 + 2 * 256) * 4);
  expect_same_in_every_setting(*decoder);
}

// The forward of training, over prompt and reply at once and without a cache.
void expect_recorded_logprobs(model::Decoder* decoder) {
  const auto replies = Exactness(*decoder).run(kSettings[2]);
  for (auto& request : mixed_requests(300)) {
    const auto& tokens = replies.at(request.id.value).tokens;
    std::vector<std::int64_t> ids(request.prompt_ids.begin(), request.prompt_ids.end()), targets;
    for (const auto& drawn : tokens) ids.push_back(drawn.id);
    model::ForwardInput input;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      input.token_ids.push_back(ids[i]);
      input.positions.push_back(static_cast<std::int64_t>(i));
      input.attention.spans.push_back({0, static_cast<std::int32_t>(i) + 1});
      input.attention.end_row();
      targets.push_back(ids[i + 1]);
    }
    const float temperature = request.sampling.temperature == 0 ? 1.0F : request.sampling.temperature;
    const at::NoGradGuard no_grad;
    const auto logprobs = decoder->selected_logprobs(decoder->hidden(input), targets, temperature);
    const std::size_t first = targets.size() - tokens.size();
    for (std::size_t i = 0; i < tokens.size(); ++i)
      ASSERT_EQ(logprobs.const_data_ptr<float>()[first + i], tokens[i].sampled_logprob)
          << "request " << request.id << ", token " << i;
  }
}

TEST(EngineExactness, TheForwardOfTrainingGivesTheRecordedLogprobs) {
  expect_recorded_logprobs(tiny_decoder().get());
  expect_recorded_logprobs(expert_decoder().get());
  expect_recorded_logprobs(hybrid_decoder().get());
}
}  // namespace
}  // namespace corisco::engine
