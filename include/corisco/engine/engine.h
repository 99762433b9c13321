// The in-process inference engine: continuous batching over a block-table KV cache.
// Lives on the device thread beside the trainer; never shared. Cheap pieces without torch
// (scheduler, blocks, sampler) have headers of their own in src/engine and are tested alone.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/config/config.h"
#include "corisco/metrics/registry.h"
#include "corisco/types/call.h"

namespace corisco::model {
class Decoder;
}

namespace corisco::engine {
// Acts inside the step: says before each draw what may be drawn, and after it whether the sequence ends
// there. Called on the device thread.
struct TokenFilter {
  // Bit id % 32 of word id / 32 is set if the token may come next; tokens beyond the words may not.
  // Empty: every token may. An error ends the sequence with it. Valid until accept.
  virtual Result<std::span<const std::uint32_t>> allowed() { return std::span<const std::uint32_t>{}; }
  virtual bool accept(TokenId id) = 0;   // true: the sequence ends with this token
  virtual ~TokenFilter() = default;
};

struct EngineRequest {
  RequestId id;
  std::uint64_t queue_order = 0;         // smaller is admitted first
  std::vector<TokenId> prompt_ids;
  SamplingParams sampling;
  std::unique_ptr<TokenFilter> filter;   // may be null
  // How many alternatives to report of each prompt token. None: the prompt's log-probabilities are not asked for.
  std::optional<std::uint32_t> prompt_logprobs{};
};

struct TopLogprob {
  TokenId id = 0;
  float logprob = 0;
};

// A prompt token after those before it, by the unchanged logits at temperature 1; in the arithmetic of
// sampled_logprob. rank: how many tokens are as probable or more (of equals the lower ids), itself among them.
//   prompt [a b c]  ->  of b after [a], of c after [a b]; each with as many alternatives as were asked for
struct PromptLogprob {
  float logprob = 0;
  std::uint32_t rank = 0;
  std::vector<TopLogprob> top{};         // most probable first; the token may be among them
};

struct EngineDelta {
  RequestId id;
  std::vector<SampledToken> tokens;
  std::vector<std::vector<TopLogprob>> top_logprobs;
  std::optional<FinishReason> finish;
  std::optional<Error> error;            // non-finite logits, a prompt that cannot fit
  std::uint32_t num_reused_prompt_tokens = 0;   // of the first one: found in the cache when it was admitted
  std::vector<std::uint16_t> routed_experts{};    // of the last one, as Call's; if the run asks for it
  // Of the first one, if asked for: of the prompt's tokens but its first, all by one policy.
  std::vector<PromptLogprob> prompt_logprobs{};
};

struct EngineStats {
  std::uint32_t num_waiting = 0, num_running = 0;
  std::uint64_t num_prompt_tokens = 0, num_reused_prompt_tokens = 0, num_sampled_tokens = 0;
  std::uint64_t num_recomputed_tokens = 0;   // that were cached when the weights changed, and were needed again
  std::uint64_t num_steps = 0, num_preempted = 0, num_nonfinite = 0;
  std::uint32_t num_kv_blocks = 0, num_kv_blocks_used = 0;
};

class Engine {
 public:
  // decoder outlives the engine. end_ids: tokens that end every sequence. records_routing: the last delta
  // of each sequence has its routed_experts; an error if the model has no experts.
  static Result<std::unique_ptr<Engine>> create(model::Decoder& decoder,
                                                const config::Engine& options,
                                                std::vector<TokenId> end_ids, bool records_routing = false);
  virtual ~Engine() = default;
  virtual void add(EngineRequest request) = 0;
  virtual void cancel(RequestId id) = 0;           // its blocks are free at once
  virtual bool has_work() const = 0;
  // One forward pass over what the scheduler chose; what each sequence gained.
  virtual std::vector<EngineDelta> step() = 0;
  // Stops every live sequence at its token boundary and keeps it: the drain's deadline has passed.
  // Its KV is dropped and computed again (recompute never changes recorded tokens) after publish.
  virtual void suspend_all() = 0;
  // The weights changed: caches of older versions are dropped, tokens from now on carry this version.
  virtual void set_policy_version(PolicyVersion version) = 0;
  virtual PolicyVersion policy_version() const = 0;
  virtual std::uint32_t context_tokens_max() const = 0;
  // Gives the KV memory back while training, and takes it again.
  virtual void release_memory() = 0;
  virtual EngineStats stats() const = 0;
};
}  // namespace corisco::engine
