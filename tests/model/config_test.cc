// What a config.json means for each architecture, and what in it is refused.
#include "corisco/model/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "golden.h"
#include "support/temporary_folder.h"

namespace corisco::model {
namespace {
// Reads the variant's config with one field replaced.
Result<DecoderConfig> changed_config(const std::string& variant, const std::string& from, const std::string& to) {
  const support::TemporaryFolder folder;
  auto text = files::read(testing::golden_folder(variant) + "/config.json").value();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  EXPECT_TRUE(files::write_atomically(folder.path() + "/config.json", text).ok());
  return read_config(folder.path());
}

std::string config_error(const std::string& from, const std::string& to, const std::string& variant = "llama3") {
  const auto config = changed_config(variant, from, to);
  return config.ok() ? "" : config.error().message;
}

TEST(Config, FieldsOfALlama3File) {
  const auto config = read_config(testing::golden_folder("llama3")).value();
  EXPECT_EQ(config.hidden_size, 32);
  EXPECT_EQ(config.num_kv_heads, 2);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.rope.type, "llama3");
  EXPECT_EQ(config.rope.theta, 100);
  EXPECT_EQ(config.rope.factor, 8);
  EXPECT_EQ(config.rope.original_max_position, 32);
  EXPECT_EQ(config.end_ids, std::vector<std::int32_t>{1});
}

// Of both forms at once transformers takes rope_scaling and may lose the other's base: they must agree.
TEST(Config, FieldsOfARotation) {
  const std::string before = "\"rope_parameters\": {\n  \"beta_fast\": 4.0,";
  const auto older = changed_config("yarn", before, R"("rope_theta": 500.0, "rope_scaling": {"beta_fast": 4.0,)");
  EXPECT_EQ(older.value().rope.theta, 100);  // within the object it counts first
  const auto top = changed_config("yarn", "\"use_cache\": true", "\"original_max_position_embeddings\": 64");
  EXPECT_EQ(top.value().rope.original_max_position, 64);  // beside the object it counts first
  const auto more = changed_config("yarn", "\"factor\": 4.0",
                                   R"("factor": null, "mscale": 1.0, "mscale_all_dim": 0.5, "truncate": false)");
  EXPECT_EQ(more.value().rope.factor, 4);  // 128 / 32
  EXPECT_EQ(more.value().rope.mscale, 1);
  EXPECT_EQ(more.value().rope.mscale_all_dim, 0.5);
  EXPECT_FALSE(more.value().rope.truncates);
  EXPECT_EQ(changed_config("linear", "\"linear\"", "\"dynamic\"").value().rope.type, "dynamic");
  EXPECT_EQ(changed_config("linear", "\"linear\"", "\"dynamic\"").value().max_position, 128);
  // As Qwen's model cards add one: the length of the file stays that of before.
  const std::string plain = "\"rope_parameters\": {\n  \"rope_theta\": 10000.0,\n  \"rope_type\": \"default\"";
  const auto card = changed_config("qwen3", plain,
                                   R"("rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                                      "original_max_position_embeddings": 100)");
  EXPECT_EQ(card.value().rope.theta, 1e6);
  EXPECT_EQ(card.value().max_position, 400);

  const auto error = [](const std::string& variant, const std::string& from, const std::string& to) {
    return config_error(from, to, variant);
  };
  const std::string scaling = R"("rope_scaling": {"rope_type": "yarn", "factor": 4.0})";
  EXPECT_NE(error("qwen3", "\"use_cache\": true", scaling).find("rope_scaling and rope_parameters do not say the same"),
            std::string::npos);
  EXPECT_EQ(error("qwen3", "\"use_cache\": true", R"("rope_scaling": {"type": "default", "rope_theta": 10000.0})"), "");
  EXPECT_NE(error("qwen3", "\"rope_type\": \"default\"", "\"full_attention\": {\"rope_type\": \"default\"}")
                .find("for each type of layer"),
            std::string::npos);
  EXPECT_NE(error("linear", "\"factor\": 4.0", "\"factors\": 4.0").find("rope field factor is 0"), std::string::npos);
  EXPECT_NE(error("llama3", "\"low_freq_factor\"", "\"low\"").find("low_freq_factor"), std::string::npos);
}

TEST(Config, EndIdsAreTheUnionOfBothFiles) {
  const support::TemporaryFolder folder;
  std::filesystem::copy(testing::golden_folder("tied") + "/config.json", folder.path());
  std::ofstream(folder.path() + "/generation_config.json")
      << R"({"eos_token_id": [1, 7], "temperature": 0.7, "top_k": null, "top_p": 0.8, "do_sample": true})";
  const auto config = read_config(folder.path()).value();
  EXPECT_EQ(config.end_ids, (std::vector<std::int32_t>{1, 7}));
  EXPECT_EQ(config.unused_sampling, (std::vector<std::string>{"temperature", "top_p"}));
}

// Fine-tunes change the tokenizer's end token alone. Its id is in either file, by the version of transformers.
TEST(Config, TheTokenizersEndTokenIsAnEndToo) {
  const auto ids = [](const std::string& tokenizer_config, const std::string& tokenizer) {
    const support::TemporaryFolder folder;
    std::filesystem::copy(testing::golden_folder("tied") + "/config.json", folder.path());
    std::ofstream(folder.path() + "/tokenizer_config.json") << tokenizer_config;
    if (!tokenizer.empty()) std::ofstream(folder.path() + "/tokenizer.json") << tokenizer;
    return read_config(folder.path()).value().end_ids;
  };
  const std::string added = R"({"added_tokens": [{"id": 5, "content": "<s>"}, {"id": 9, "content": "<end>"}]})";
  EXPECT_EQ(ids(R"({"eos_token": "<end>"})", added), (std::vector<std::int32_t>{1, 9}));
  EXPECT_EQ(ids(R"({"eos_token": {"content": "<end>"}})", added), (std::vector<std::int32_t>{1, 9}));
  const std::string decoder = R"("added_tokens_decoder": {"7": {"content": "<end>"}, "8": {"content": "<s>"}})";
  EXPECT_EQ(ids(cat(R"({"eos_token": "<end>", )", decoder, "}"), added), (std::vector<std::int32_t>{1, 7}));
  EXPECT_EQ(ids(R"({"eos_token": "<end>"})", ""), std::vector<std::int32_t>{1});
  EXPECT_EQ(ids(R"({"eos_token": null})", added), std::vector<std::int32_t>{1});
}

TEST(Config, WhatIsNotSupportedIsRefusedByName) {
  EXPECT_NE(config_error("\"LlamaForCausalLM\"", "\"MambaForCausalLM\"").find("MambaForCausalLM"),
            std::string::npos);
  EXPECT_NE(config_error("\"silu\"", "\"gelu\"").find("hidden_act \"gelu\""), std::string::npos);
  EXPECT_NE(config_error("\"rope_type\": \"llama3\"", "\"rope_type\": \"longrope\"")
                .find("rope type \"longrope\" is not supported; known: default, linear, dynamic, llama3, yarn"),
            std::string::npos);
  EXPECT_NE(config_error("\"use_cache\": true", "\"is_causal\": false").find("is_causal"), std::string::npos);
  EXPECT_NE(config_error("\"use_cache\": true", R"("per_layer_config": {"1": {"skip": ["mlp"]}})")
                .find("per_layer_config"),
            std::string::npos);
  EXPECT_NE(config_error("\"mlp_bias\": false", "\"quantization_config\": {}").find("quantization_config"),
            std::string::npos);
  EXPECT_NE(config_error("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3").find("not a multiple"),
            std::string::npos);
  EXPECT_NE(config_error("\"hidden_size\": 32", "\"hidden_size\": \"wide\"").find("wrong type"),
            std::string::npos);
  EXPECT_NE(config_error("\"vocab_size\": 96", "\"vocab_size\": null").find("vocab_size is 0"),
            std::string::npos);
}

TEST(Config, WhatEachArchitectureMeans) {
  const auto qwen2 = read_config(testing::golden_folder("qwen2")).value();
  EXPECT_TRUE(qwen2.qkv_bias && !qwen2.attention_output_bias && !qwen2.norms_heads && qwen2.tie_embeddings);
  EXPECT_EQ(qwen2.sliding_window, 0);
  const auto qwen2_window = read_config(testing::golden_folder("qwen2_window")).value();
  EXPECT_EQ(qwen2_window.sliding_window, 5);
  EXPECT_EQ(qwen2_window.sliding_layers, (std::vector<bool>{false, true}));
  const auto qwen3 = read_config(testing::golden_folder("qwen3")).value();
  EXPECT_TRUE(!qwen3.qkv_bias && qwen3.norms_heads);
  EXPECT_EQ(qwen3.head_dim, 16);
  EXPECT_EQ(read_config(testing::golden_folder("qwen3_window")).value().sliding_layers,
            (std::vector<bool>{true, false}));
  const auto moe = read_config(testing::golden_folder("qwen3_moe")).value();
  EXPECT_EQ(moe.num_experts, 6);
  EXPECT_EQ(moe.experts_per_token, 2);
  EXPECT_EQ(moe.expert_intermediate_size, 12);
  EXPECT_TRUE(moe.normalises_expert_weights);
  EXPECT_EQ(moe.expert_layers, (std::vector<bool>{true, false, true}));
  const auto step = read_config(testing::golden_folder("qwen3_moe_sparse_step")).value();
  EXPECT_EQ(step.expert_layers, (std::vector<bool>{false, true}));
  EXPECT_EQ(step.sliding_layers, (std::vector<bool>{true, true}));
  EXPECT_EQ(read_config(testing::golden_folder("mistral")).value().sliding_window, 0);
  EXPECT_EQ(read_config(testing::golden_folder("mistral_window")).value().sliding_window, 7);
}

// As transformers fills them in.
TEST(Config, WhatAHybridArchitectureMeans) {
  const auto next = read_config(testing::golden_folder("qwen3_next")).value();
  EXPECT_TRUE(next.gates_attention && next.norms_heads && next.norms_from_one && next.delta_rows_by_head);
  EXPECT_EQ(next.linear_layers, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(next.expert_layers, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(next.shared_expert_intermediate_size, 14);
  EXPECT_EQ(next.turned_dim(), 8);  // half of 16
  // Of one key head: queries 8, keys 8, two value heads of 6.
  EXPECT_EQ(next.delta.channels(), 28);
  EXPECT_EQ(next.delta.state_floats(), 3 * 28 + 2 * 8 * 6);
  EXPECT_EQ(next.delta.projected_width(), 2 * 16 + 24 + 24 + 8);
  const auto dense = read_config(testing::golden_folder("qwen3_5")).value();
  EXPECT_TRUE(dense.tie_embeddings && dense.expert_layers.empty() && !dense.delta_rows_by_head);
  EXPECT_EQ(dense.delta.kernel, 3);
  const auto moe = read_config(testing::golden_folder("qwen3_5_moe")).value();
  EXPECT_TRUE(moe.normalises_expert_weights);
  EXPECT_EQ(moe.expert_layers, (std::vector<bool>{true, true}));
  // Three layers, of which every fourth would have attention.
  const std::string no_attention = config_error("\"layer_types\"", "\"other\"", "qwen3_5");
  EXPECT_NE(no_attention.find("without any full_attention"), std::string::npos) << no_attention;
}

// Qwen3.5-35B-A3B's has the first two and the last, Qwen3.8's the third: none of them changes anything.
TEST(Config, FieldsThatSayWhatAnArchitectureDoesAnyway) {
  const auto moe = changed_config("qwen3_5_moe", "\"use_cache\": true",
                                  R"("mlp_only_layers": [], "attn_output_gate": true, "output_gate_type": "swish",
                                     "norm_topk_prob": true, "decoder_sparse_step": 1, "mamba_ssm_dtype": "float32")");
  ASSERT_TRUE(moe.ok()) << moe.error().message;
  EXPECT_TRUE(moe.value().normalises_expert_weights);
  EXPECT_EQ(moe.value().expert_layers, (std::vector<bool>{true, true}));
}

TEST(Config, FieldsThatFilesLeaveOut) {
  EXPECT_EQ(changed_config("mistral", "\"sliding_window\"", "\"other\"").value().sliding_window, 4096);
  EXPECT_EQ(changed_config("qwen3", "\"head_dim\"", "\"other\"").value().head_dim, 128);
  EXPECT_EQ(changed_config("qwen3_moe", "\"head_dim\"", "\"other\"").value().head_dim, 8);  // hidden_size / heads
  EXPECT_EQ(read_config(testing::golden_folder("qwen2")).value().head_dim, 8);  // hidden_size / heads
  EXPECT_EQ(changed_config("qwen3", "\"architectures\"", "\"other\"").value().architecture, "Qwen3ForCausalLM");
}

TEST(Config, FieldsThatAreNull) {
  const auto window = changed_config("qwen2_window", "\"sliding_window\": 5", "\"sliding_window\": null");
  EXPECT_NE(window.error().message.find("layer_types has sliding_attention, but no window"), std::string::npos);
  const auto moe = changed_config("qwen3_moe_sparse_step", "\"sliding_window\": 9", "\"sliding_window\": null");
  EXPECT_EQ(moe.value().sliding_window, 0);
  EXPECT_EQ(moe.value().sliding_layers, (std::vector<bool>{false, false}));
  EXPECT_TRUE(changed_config("qwen3", "\"use_cache\": true",
                             "\"quantization_config\": null, \"vision_config\": null").ok());
}

TEST(Config, WhatAnArchitectureLacksIsRefusedByName) {
  const std::string unknown = config_error("\"Qwen3ForCausalLM\"", "\"Qwen4ForCausalLM\"", "qwen3");
  EXPECT_NE(unknown.find("\"Qwen4ForCausalLM\" is not supported; known: LlamaForCausalLM, MistralForCausalLM, "
                         "Qwen2ForCausalLM, Qwen3ForCausalLM, Qwen3MoeForCausalLM, Qwen3NextForCausalLM, "
                         "Qwen3_5ForCausalLM, Qwen3_5MoeForCausalLM, Qwen3_5ForConditionalGeneration, "
                         "Qwen3_5MoeForConditionalGeneration"),
            std::string::npos)
      << unknown;
  EXPECT_NE(config_error("\"use_cache\": true", "\"vision_config\": {}", "qwen3").find("vision_config: inputs other"),
            std::string::npos);
  EXPECT_NE(config_error("\"use_cache\": true", "\"sliding_window\": 8").find("sliding_window"), std::string::npos);
  EXPECT_NE(config_error("\"sliding_attention\"", "\"chunked_attention\"", "qwen3_window").find("chunked_attention"),
            std::string::npos);
  EXPECT_NE(config_error("\"use_sliding_window\": true", "\"use_sliding_window\": false", "qwen3_window")
                .find("layer_types has sliding_attention"),
            std::string::npos);
  EXPECT_NE(config_error("\"use_cache\": true", "\"layer_types\": [\"full_attention\", \"sliding_attention\"]",
                         "mistral_window")
                .find("layer_types that differ"),
            std::string::npos);
  EXPECT_NE(config_error("\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 7", "qwen3_moe")
                .find("num_experts_per_tok is 7 of 6"),
            std::string::npos);
  EXPECT_NE(config_error("\"linear_num_value_heads\": 4", "\"linear_num_value_heads\": 3", "qwen3_5")
                .find("linear_num_value_heads 3 is not a multiple"),
            std::string::npos);
  EXPECT_NE(config_error("\"full_attention\"", "\"linear_attention\"", "qwen3_5").find("without any full_attention"),
            std::string::npos);
  EXPECT_NE(config_error("\"partial_rotary_factor\": 0.5", "\"partial_rotary_factor\": 0.2", "qwen3_5")
                .find("turns 3 of 16 numbers"),
            std::string::npos);
  for (const char* field : {"\"mlp_only_layers\": [1]", "\"decoder_sparse_step\": 2", "\"norm_topk_prob\": false",
                            "\"attn_output_gate\": false", "\"output_gate_type\": \"sigmoid\""}) {
    const std::string name = std::string(field).substr(1, std::string(field).find('"', 1) - 1);
    EXPECT_NE(config_error("\"use_cache\": true", field, "qwen3_5_moe").find(name), std::string::npos) << field;
  }
  EXPECT_NE(config_error("\"use_cache\": true", "\"partial_rotary_factor\": 0.5", "qwen3")
                .find("partial_rotary_factor other than 1"),
            std::string::npos);
}

// Its language model's fields lie in text_config; `more` stands beside it.
Result<DecoderConfig> multimodal_config(const std::string& more) {
  const support::TemporaryFolder folder;
  auto text = files::read(testing::golden_folder("qwen3_5") + "/config.json").value();
  const std::string named = "\"Qwen3_5ForCausalLM\"";
  text.replace(text.find(named), named.size(), "\"unused\"");
  const std::string outer = cat(R"({"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5",
    "vision_config": {"depth": 2}, )", more, R"("text_config": )", text, "}");
  EXPECT_TRUE(files::write_atomically(folder.path() + "/config.json", outer).ok());
  return read_config(folder.path());
}

// The type and the ends may stand outside of it.
TEST(Config, ALanguageModelThatIsAPartOfItsFile) {
  const auto config = multimodal_config(R"("eos_token_id": 7, "dtype": "float32", )");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.value().hidden_size, 32);
  EXPECT_EQ(config.value().dtype, "float32");
  EXPECT_TRUE(config.value().tie_embeddings);
  EXPECT_EQ(config.value().end_ids, (std::vector<std::int32_t>{1, 7}));
  EXPECT_EQ(config.value().linear_layers, (std::vector<bool>{true, false, true}));
  const auto quantised = multimodal_config(R"("quantization_config": {"quant_method": "fp8"}, )");
  ASSERT_FALSE(quantised.ok());
  EXPECT_NE(quantised.error().message.find("quantization_config"), std::string::npos);
}
}  // namespace
}  // namespace corisco::model
