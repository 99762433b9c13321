// The engine over one decoder: scheduler, runner, and what the requests asked for.
// Owned by the device loop and used on its thread alone; never waits, never logs a prompt.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "corisco/engine/engine.h"
#include "engine/block_pool.h"
#include "engine/routing_record.h"
#include "engine/runner.h"
#include "engine/scheduler.h"
#include "engine/state_pool.h"

namespace corisco::engine {
struct Limits {
  std::uint32_t num_blocks = 0;
  std::uint32_t context_tokens_max = 0;    // fits in the blocks
  std::uint32_t num_states = 0;            // of recurrent layers; 0: the decoder has none
};
// The KV memory in slots for states and blocks, and the longest sequence: the smallest of the configured length,
// the model's, and what the cache holds, with each token's experts if they are recorded.
Result<Limits> make_limits(const model::Decoder& decoder, const config::Engine& options, bool records_routing);

class BatchEngine final : public Engine {
 public:
  BatchEngine(model::Decoder& decoder, const config::Engine& options, Limits limits,
              std::vector<TokenId> end_ids, bool records_routing);

  void add(EngineRequest request) override;
  void cancel(RequestId id) override;
  bool has_work() const override;
  std::vector<EngineDelta> step() override;
  void suspend_all() override { scheduler_.suspend_all(); }
  void set_policy_version(PolicyVersion version) override;
  PolicyVersion policy_version() const override { return policy_version_; }
  std::uint32_t context_tokens_max() const override { return limits_.context_tokens_max; }
  void release_memory() override;
  EngineStats stats() const override;

 private:
  struct Live {                            // a request until its last delta
    SamplingParams sampling;
    std::unique_ptr<TokenFilter> filter;
    std::uint32_t num_drawn = 0;
    std::vector<model::ExpertId> routed_experts{};   // of the tokens computed so far
    std::uint32_t num_prompt_top = 0;      // alternatives of each prompt token, if its prompt is scored
    std::vector<PromptLogprob> prompt_logprobs{};    // of the prompt's tokens so far, until the first is drawn
    SeenTokens seen{};                     // kept only for penalties; recomputing a sequence does not touch it
    std::optional<Error> error{};          // the filter's, or of the prompt's logits: the sequence ends with it
  };
  std::optional<Error> refusal(const EngineRequest& request) const;
  std::optional<Error> refused_sampling(const SamplingParams& sampling) const;
  std::vector<DrawRequest> draw_requests(const ScheduledStep& step);
  void record_routing(const ScheduledStep& step);
  void ask_for_alternatives(const ScheduledStep& step, std::vector<ScoredRow>& rows);
  void take_scored(const ScheduledStep& step, std::vector<PromptLogprob> scored);
  EngineDelta take(const Sequence& sequence, DrawnToken drawn);
  Error not_finite(std::uint32_t num_tokens);
  std::optional<Error> draw_error(const Sequence& sequence, const Live& live, const DrawnToken& drawn);
  std::optional<FinishReason> finish_of(const Sequence& sequence, Live& live, TokenId id) const;
  std::vector<EngineDelta> fail(const ScheduledStep& step, const Error& error);

  const std::int64_t vocabulary_;
  const std::size_t live_max_;           // running and waiting
  const Limits limits_;
  const std::vector<TokenId> end_ids_;
  PolicyVersion policy_version_;
  BlockPool pool_;
  StatePool states_;
  Scheduler scheduler_;
  Runner runner_;
  RoutingRecord routing_;
  std::unordered_map<RequestId, Live> live_;
  std::vector<EngineDelta> refused_;       // told at the next step
  EngineStats totals_;                     // the counters that only grow
};
}  // namespace corisco::engine
