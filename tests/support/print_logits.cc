// print_logits FOLDER DTYPE [DEVICE] < CASES.json > NUMBERS.json: what this project's model and engine make of
// a checkpoint, for scripts/golden/export_check.py to compare with transformers.
//   cases   {"cases": [{"ids": [..], "greedy": N}]}
//   numbers {"cases": [{"logits": [[..] per position], "greedy": [N ids]}]}
#include <ATen/core/grad_mode.h>

#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "corisco/model/decoder.h"
#include "engine/engine_drive.h"
#include "support/tiny_model.h"

namespace {
using namespace corisco;

std::vector<std::vector<float>> logits_of(model::Decoder& decoder, const std::vector<std::int64_t>& ids) {
  const at::NoGradGuard no_grad;
  const at::Tensor logits =
      decoder.logits(decoder.hidden(corisco::testing::one_sequence(ids))).to(at::kCPU).contiguous();
  std::vector<std::vector<float>> rows;
  for (std::int64_t row = 0; row < logits.size(0); ++row) {
    const float* first = logits.const_data_ptr<float>() + row * logits.size(1);
    rows.emplace_back(first, first + logits.size(1));
  }
  return rows;
}

std::vector<TokenId> greedy(engine::Engine& engine, std::uint64_t id, std::vector<TokenId> ids,
                            std::uint32_t count) {
  auto request = engine::make_request(id, std::move(ids), count);
  request.sampling.temperature = 0;
  engine.add(std::move(request));
  return engine::finish(engine).at(id).ids();
}

int run(const std::string& folder, const std::string& dtype, const std::string& device) {
  model::use_threads(0);
  config::Model options;
  options.dtype = dtype;
  options.device = device;
  auto decoder = model::Decoder::load(folder, options, /*deterministic=*/false);
  if (!decoder.ok()) {
    std::cerr << decoder.error().message << '\n';
    return 1;
  }
  auto engine = engine::Engine::create(*decoder.value(), config::Engine{}, /*end_ids=*/{});
  if (!engine.ok()) {
    std::cerr << engine.error().message << '\n';
    return 1;
  }
  const auto given = parse_json(std::string(std::istreambuf_iterator<char>(std::cin), {}));
  nlohmann::json numbers;
  for (const auto& one : given.at("cases")) {
    const auto ids = one.at("ids").get<std::vector<std::int64_t>>();
    const auto tokens = greedy(*engine.value(), numbers["cases"].size() + 1, {ids.begin(), ids.end()},
                               one.at("greedy").get<std::uint32_t>());
    numbers["cases"].push_back({{"logits", logits_of(*decoder.value(), ids)}, {"greedy", tokens}});
  }
  std::cout << numbers << '\n';
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 || argc == 4) return run(argv[1], argv[2], argc == 4 ? argv[3] : "cpu");
  std::cerr << "usage: print_logits FOLDER float32|bfloat16 [cpu|cuda] < CASES.json\n";
  return 2;
}
