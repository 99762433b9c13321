// Sizes the KV cache and makes the engine.
#include "corisco/engine/engine.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "engine/batch_engine.h"

namespace corisco::engine {
namespace {
// A state for each running sequence and as many that are kept, in at most half of the memory; fewer slots let
// fewer sequences run.
Result<std::uint32_t> state_slots(const model::Decoder& decoder, const config::Engine& options) {
  const std::int64_t state_bytes = decoder.state_bytes();
  if (state_bytes == 0) return std::uint32_t{0};
  const std::int64_t wanted = std::int64_t{options.sequences_max} * (options.share_prefixes ? 2 : 1);
  const std::int64_t half = (std::int64_t{options.kv_memory_mb} << 20) / 2;
  const std::int64_t slots = std::min(wanted, half / state_bytes);
  if (slots < 1)
    return Error{Code::invalid_argument,
                 cat("engine.kv_memory_mb: ", options.kv_memory_mb, " MB; half of it holds no sequence's state in the "
                     "recurrent layers (", state_bytes, " bytes): raise it")};
  if (slots < options.sequences_max)
    log::warn(cat("engine.kv_memory_mb holds the states of ", slots, " sequences at a time instead of ",
                  options.sequences_max, " (engine.sequences_max)"));
  return static_cast<std::uint32_t>(slots);
}
}  // namespace

Result<Limits> make_limits(const model::Decoder& decoder, const config::Engine& options, bool records_routing) {
  CORISCO_TRY(const std::uint32_t num_states, state_slots(decoder, options));
  const auto expert_bytes = static_cast<std::int64_t>(sizeof(model::ExpertId)) * decoder.config().experts_per_row();
  const std::int64_t block_bytes =
      (decoder.kv_bytes_per_token() + (records_routing ? expert_bytes : 0)) * options.block_tokens;
  const std::int64_t memory_bytes =
      (std::int64_t{options.kv_memory_mb} << 20) - num_states * decoder.state_bytes();
  const std::int64_t rows_max = std::numeric_limits<std::int32_t>::max();
  const std::int64_t model_max = decoder.config().max_position;
  // What running sequences can fill at most, and as much again for prefixes that are kept.
  const std::int64_t sequence_blocks = model_max / options.block_tokens + 1;
  const std::int64_t num_blocks =
      std::min({memory_bytes / block_bytes, rows_max / options.block_tokens,
                2 * sequence_blocks * options.sequences_max});
  const std::int64_t cache_tokens = num_blocks * options.block_tokens;
  if (cache_tokens < 2)
    return Error{Code::invalid_argument,
                 cat("engine.kv_memory_mb: ", options.kv_memory_mb, " MB hold no sequence in blocks of ",
                     options.block_tokens, " tokens (", block_bytes,
                     " bytes): raise it or lower engine.block_tokens")};
  std::int64_t context = options.context_tokens_max;
  if (context > model_max)
    return Error{Code::invalid_argument, cat("engine.context_tokens_max: ", context,
                                             " is more than the ", model_max, " of the model's config")};
  if (context > cache_tokens)
    return Error{Code::invalid_argument,
                 cat("engine.context_tokens_max: ", context, " tokens do not fit in the KV cache of ",
                     cache_tokens, ": raise engine.kv_memory_mb")};
  if (context == 0) context = std::min(model_max, cache_tokens);
  if (context < model_max && options.context_tokens_max == 0)
    log::warn(cat("engine.kv_memory_mb holds ", cache_tokens, " tokens: the context window is ",
                  context, " instead of the model's ", model_max));
  return Limits{static_cast<std::uint32_t>(num_blocks), static_cast<std::uint32_t>(context), num_states};
}

Result<std::unique_ptr<Engine>> Engine::create(model::Decoder& decoder,
                                               const config::Engine& options,
                                               std::vector<TokenId> end_ids, bool records_routing) {
  if (records_routing && decoder.config().experts_per_row() == 0)
    return Error{Code::invalid_argument,
                 "trainer.replay_routing: the model has no experts, so there is no routing to replay: turn it off"};
  CORISCO_TRY(const Limits limits, make_limits(decoder, options, records_routing));
  return std::unique_ptr<Engine>(
      std::make_unique<BatchEngine>(decoder, options, limits, std::move(end_ids), records_routing));
}
}  // namespace corisco::engine
