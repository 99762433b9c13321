// The real model of the quickstart, when the cache has it: top logits against transformers' numbers.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/model/token_logprob.h"
#include "golden.h"
#include "support/tiny_model.h"

namespace corisco::model {
namespace {
std::string model_folder() {
  const char* cache = std::getenv("CORISCO_CACHE");
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder = std::string(home ? home : "") + "/.cache/corisco";
  if (xdg != nullptr) folder = std::string(xdg) + "/corisco";
  if (cache != nullptr) folder = cache;
  return folder + "/SmolLM2-135M-Instruct";
}

TEST(Smollm2, LogitsMatchTransformers) {
  if (!std::filesystem::exists(model_folder() + "/model.safetensors")) {
    GTEST_SKIP() << "no model in " << model_folder() << " (scripts/fetch_model.sh puts it there)";
  }
  const auto golden =
      parse_json(files::read(testing::golden_folder("smollm2_135m_instruct.json")).value());
  config::Model options;
  options.dtype = "float32";
  for (const bool deterministic : {false, true}) {
    auto decoder = Decoder::load(model_folder(), options, deterministic);
    ASSERT_TRUE(decoder.ok()) << decoder.error().message;
    const auto ids = golden["ids"].get<std::vector<std::int64_t>>();
    at::Tensor logits;
    {
      const at::NoGradGuard no_grad;
      logits = decoder.value()->logits(decoder.value()->hidden(testing::one_sequence(ids)));
    }
    const std::int64_t vocabulary = logits.size(1);
    for (std::size_t row = 0; row < ids.size(); ++row) {
      const float* row_logits = logits.const_data_ptr<float>() + static_cast<std::int64_t>(row) * vocabulary;
      for (std::size_t k = 0; k < golden["top_ids"][row].size(); ++k) {
        const auto id = golden["top_ids"][row][k].get<std::int64_t>();
        const auto expected = golden["top_logits"][row][k].get<float>();
        EXPECT_NEAR(row_logits[id], expected, 1e-4F) << "row " << row << " id " << id;
        EXPECT_NEAR(token_logprob(row_logits, vocabulary, id, 1.0F),
                    expected - golden["log_sums"][row].get<float>(), 2e-4F);
      }
    }
  }
}
}  // namespace
}  // namespace corisco::model
