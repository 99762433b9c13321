#include "points.h"

#include <unistd.h>

#include <fstream>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"
#include "stopwatch.h"

namespace corisco::bench {
namespace {
constexpr std::uint32_t kReplyTokensMax = 4096;  // more than any measurement decodes

std::int64_t resident_bytes() {
  std::int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}
}  // namespace

Result<std::unique_ptr<Points>> Points::load(const std::string& folder, const std::string& dtype,
                                             std::uint32_t threads) {
  model::use_threads(threads);
  config::Model options;
  options.path = folder;
  options.dtype = dtype;
  options.threads = threads;
  CORISCO_TRY(auto decoder, model::Decoder::load(folder, options, /*deterministic=*/false));
  std::unique_ptr<Points> points(new Points(std::move(decoder)));
  points->options_.kv_memory_mb = 6144;  // 64 sequences of 2,000 tokens; only what is used is resident
  // No end tokens: every reply is as long as is asked for.
  CORISCO_TRY(points->engine_, engine::Engine::create(*points->decoder_, points->options_, /*end_ids=*/{}));
  return points;
}

void Points::add(std::vector<TokenId> ids) {
  engine::EngineRequest request;
  request.id = {++last_id_};
  request.queue_order = last_id_;
  request.prompt_ids = std::move(ids);
  request.sampling.max_tokens = kReplyTokensMax;
  request.sampling.key = last_id_;
  running_.push_back(request.id);
  engine_->add(std::move(request));
}

void Points::run(std::size_t tokens) {
  for (std::size_t drawn = 0; drawn < tokens;) {
    for (const auto& delta : engine_->step()) {
      CORISCO_ASSERT(!delta.finish, cat("request ", delta.id, " ended: ", delta.error ? delta.error->message : ""));
      drawn += delta.tokens.size();
    }
  }
}

double Points::prefill(std::vector<TokenId> ids) {
  const Stopwatch watch;
  add(std::move(ids));
  run(1);
  const double seconds = watch.seconds();
  stop();
  return seconds;
}

double Points::start(const std::vector<std::vector<TokenId>>& prompts) {
  const Stopwatch watch;
  for (const auto& ids : prompts) add(ids);
  std::vector<bool> has_drawn(prompts.size());
  for (std::size_t left = prompts.size(); left > 0;) {
    for (const auto& delta : engine_->step()) {
      const auto place = static_cast<std::size_t>(delta.id.value - running_.front().value);
      if (!has_drawn[place]) --left;
      has_drawn[place] = true;
    }
  }
  return watch.seconds();
}

double Points::decode(int steps) {
  const Stopwatch watch;
  run(running_.size() * static_cast<std::size_t>(steps));
  return watch.seconds();
}

void Points::stop() {
  for (const auto id : running_) engine_->cancel(id);
  running_.clear();
}

Memory Points::memory() const {
  std::int64_t weight_bytes = 0;
  for (const auto& [name, tensor] : decoder_->parameters()) {
    weight_bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  return {.resident_bytes = resident_bytes(),
          .weight_bytes = weight_bytes,
          .kv_bytes_per_token = decoder_->kv_bytes_per_token(),
          .kv_tokens = std::int64_t{engine_->stats().num_kv_blocks_used} * options_.block_tokens};
}
}  // namespace corisco::bench
