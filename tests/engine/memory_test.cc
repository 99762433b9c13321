// What the memory budget of the config is divided into, by hand.
#include <gtest/gtest.h>

#include "engine/batch_engine.h"
#include "engine/four_layers.h"

namespace corisco::engine {
namespace {
// Three layers with a state and one with keys and values. A token takes 2 x 8 heads x 64 floats, 4,096 bytes. A
// state takes, in each of 3 layers and 2 key heads, 3 inputs of 16 + 16 + 2 x 16 channels and 2 matrices.
model::DecoderConfig hybrid_config(std::int64_t key_dim) {
  model::DecoderConfig config = four_layers();
  config.norms_heads = config.norms_from_one = config.gates_attention = true;
  config.delta = {.num_key_heads = 2, .num_value_heads = 4, .key_dim = key_dim, .value_dim = 16, .kernel = 4};
  config.linear_layers = {true, true, true, false};
  return config;
}

config::Engine one_megabyte() {
  config::Engine options;
  options.kv_memory_mb = 1;
  return options;
}

// 1,048,576 bytes; at most half, 524,288, for states of 16,896: 31 of the 128 that 64 sequences would have. What is
// left, 524,800, holds 8 blocks of 16 tokens, 65,536 bytes each: 128 tokens of the model's 200.
TEST(EngineMemory, StatesTakeAtMostHalfAndBlocksTheRest) {
  const auto decoder = model::Decoder::random(hybrid_config(16), "float32", false, 3);
  ASSERT_EQ(decoder->kv_bytes_per_token(), 4096);
  ASSERT_EQ(decoder->state_bytes(), 16896);
  const auto limits = make_limits(*decoder, one_megabyte(), false).value();
  EXPECT_EQ(limits.num_states, 31U);
  EXPECT_EQ(limits.num_blocks, 8U);
  EXPECT_EQ(limits.context_tokens_max, 128U);
}

// 4 sequences need 4 states and as many kept ones, 135,168 bytes; without sharing nothing is kept.
TEST(EngineMemory, FewSequencesTakeFewStates) {
  const auto decoder = model::Decoder::random(hybrid_config(16), "float32", false, 3);
  auto options = one_megabyte();
  options.sequences_max = 4;
  EXPECT_EQ(make_limits(*decoder, options, false).value().num_states, 8U);
  EXPECT_EQ(make_limits(*decoder, options, false).value().num_blocks, 13U);  // of 913,408 bytes
  options.share_prefixes = false;
  EXPECT_EQ(make_limits(*decoder, options, false).value().num_states, 4U);
}

// Key dimension 512: 3 x 2 x (3 x (512 + 512 + 32) + 2 x 512 x 16) x 4 bytes = 469,248; two don't fit in a half of
// 524,288, and of a value dimension that is larger too not even one does.
TEST(EngineMemory, ABudgetWithoutRoomForAStateIsRefusedByName) {
  auto config = hybrid_config(512);
  const auto decoder = model::Decoder::random(config, "float32", false, 3);
  EXPECT_EQ(make_limits(*decoder, one_megabyte(), false).value().num_states, 1U);
  config.delta.value_dim = 32;
  const auto larger = model::Decoder::random(config, "float32", false, 3);
  const auto refused = make_limits(*larger, one_megabyte(), false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_NE(refused.error().message.find("engine.kv_memory_mb: 1 MB; half of it"), std::string::npos)
      << refused.error().message;
}
}  // namespace
}  // namespace corisco::engine
