// The measured points of the engine, driven in process on one thread as the device loop drives it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/engine/engine.h"
#include "corisco/model/decoder.h"

namespace corisco::bench {
struct Memory {
  std::int64_t resident_bytes = 0;
  std::int64_t weight_bytes = 0;        // of the model's parameters, tied ones once
  std::int64_t kv_bytes_per_token = 0;
  std::int64_t kv_tokens = 0;           // that the used blocks have room for
};

class Points {
 public:
  static Result<std::unique_ptr<Points>> load(const std::string& folder, const std::string& dtype,
                                              std::uint32_t threads);
  // Seconds until the prompt's first token, nothing else running. Its prefix must be new.
  double prefill(std::vector<TokenId> ids);
  // Takes these prompts in, until each has drawn a token; they go on in decode().
  double start(const std::vector<std::vector<TokenId>>& prompts);
  // Seconds of that many steps, each a token of every sequence that was started.
  double decode(int steps);
  void stop();
  Memory memory() const;

 private:
  explicit Points(std::unique_ptr<model::Decoder> decoder) : decoder_(std::move(decoder)) {}
  void add(std::vector<TokenId> ids);
  // Steps until that many tokens were drawn in all.
  void run(std::size_t tokens);

  std::unique_ptr<model::Decoder> decoder_;
  std::unique_ptr<engine::Engine> engine_;
  config::Engine options_;
  std::vector<RequestId> running_;
  std::uint64_t last_id_ = 0;
};
}  // namespace corisco::bench
