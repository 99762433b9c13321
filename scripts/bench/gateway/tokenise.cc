// The time that encoding the message of a large call takes by itself, through the gateway's own
// tokenizer: what a proxy in front of a model server does not do. Prints one JSON line.
//   bench_gateway_tokenise MODEL_FOLDER
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "chat_request.h"
#include "corisco/base/json.h"
#include "corisco/text/tokenizer.h"
#include "percentile.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MODEL_FOLDER\n", argv[0]);
    return 2;
  }
  const auto tokenizer = corisco::text::Tokenizer::load(argv[1]);
  if (!tokenizer.ok()) {
    std::fprintf(stderr, "error: %s\n", tokenizer.error().message.c_str());
    return 1;
  }
  constexpr std::uint64_t kTexts = 60;
  std::vector<double> milliseconds;
  std::size_t bytes = 0, tokens = 0;
  for (std::uint64_t serial = 1; serial <= kTexts; ++serial) {
    const auto text = corisco::bench::large_text(serial);
    const auto begin = std::chrono::steady_clock::now();
    const auto ids = tokenizer.value()->encode(text, true);
    milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    bytes = text.size();
    tokens = ids.value().size();
  }
  const nlohmann::ordered_json line = {{"mode", "tokenise"}, {"bytes", bytes}, {"tokens", tokens},
                                       {"p50_ms", corisco::bench::percentile(milliseconds, 0.5)},
                                       {"p99_ms", corisco::bench::percentile(milliseconds, 0.99)}};
  std::puts(corisco::json_text(line).c_str());
  return 0;
}
