// What the gateway needs from others, bound in app and faked in tests.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/types/rollout.h"

namespace corisco::text {
class Grammar;
}

namespace corisco::gateway {
struct GenerateRequest {
  RequestId id;                        // unique in the process, given by the gateway
  AttemptKey attempt;                  // rollout 0: outside any rollout
  std::uint64_t queue_order = 0;       // smaller goes first: the rollout's opening order
  std::vector<TokenId> prompt_ids;     // at least one
  SamplingParams sampling;
  std::shared_ptr<const text::Grammar> grammar;   // that the reply must obey; null: none
  // How many alternatives to report of each prompt token. None: the prompt's log-probabilities are not asked for.
  std::optional<std::uint32_t> prompt_logprobs{};
};

// Alternatives of one drawn token, most probable first; logprobs as sampled_logprob.
struct TopLogprob {
  TokenId id = 0;
  float logprob = 0;
};

// A prompt token given those before it, at temperature 1 and without penalties. rank: 1 is the most probable.
struct PromptLogprob {
  float logprob = 0;
  std::uint32_t rank = 0;
  std::vector<TopLogprob> top{};       // most probable first; the token may be among them
};

// What one decode step adds to a sequence. The last one carries finish or error.
struct GenerateDelta {
  RequestId id;
  std::vector<SampledToken> tokens;
  std::vector<std::vector<TopLogprob>> top_logprobs;  // per token, if asked for
  std::optional<FinishReason> finish;
  std::optional<Error> error;          // the sequence ended without a usable end
  std::uint32_t num_cached_prompt_tokens = 0;  // of the first one: that an earlier sequence had computed
  std::vector<std::uint16_t> routed_experts{};   // of the last one, as Call's
  std::vector<PromptLogprob> prompt_logprobs{};  // of the first one, if asked for: of all prompt tokens but the first
};

// Who samples: the engine, or a scripted one.
struct Generator {
  using OnDelta = std::function<void(GenerateDelta)>;
  // on_delta is called on the io thread, in order, until one with finish or error; never before
  // submit returns. overloaded when the queue is full, invalid_argument when it cannot fit.
  virtual Result<void> submit(GenerateRequest request, OnDelta on_delta) = 0;
  // Idempotent. on_delta is not called again after cancel returns.
  virtual void cancel(RequestId id) = 0;
  virtual std::uint32_t context_tokens_max() const = 0;
  virtual PolicyVersion policy_version() const = 0;
  virtual ~Generator() = default;
};

// Who keeps what was sampled. Completes when the call is durable in the configured mode, before
// its last byte is sent; a failure fails the request, and nothing is trained on half a record.
struct CallSink {
  virtual boost::asio::awaitable<Result<void>> record(Call call) = 0;
  // Completes when all that was recorded, and every end of a rollout, is as durable.
  virtual boost::asio::awaitable<Result<void>> settle() = 0;
  // The last byte was written (true), or the peer was gone first (false).
  virtual void mark_delivered(CallId id, AttemptKey attempt, bool is_delivered) = 0;
  // What became of it is known only now. superseded: its request was made again, and sampled anew. side: it
  // was beside the task. several_models: its attempt uses several model names; used takes that back. None of
  // the three is trained, whether it was delivered or not.
  virtual void mark_state(CallId id, AttemptKey attempt, CallState state) = 0;
  virtual ~CallSink() = default;
};

// Who knows the rollouts: POST /admin/rollouts, posted events and Agent Lightning's API go there.
struct RolloutPort {
  struct Opened {
    AttemptKey attempt;
    std::string key;                   // its API key
    std::string base_url_path;         // "/rollout/7/attempt/1"
    Mode mode = Mode::val;
    std::string task_json;             // the task as one JSON object
  };
  // A validation rollout of the caller's own task, for a harness that runs elsewhere.
  virtual Result<Opened> open_external(std::string task_json) = 0;
  // The rollout that has waited longest for such a harness. conflict: none waits now.
  virtual Result<Opened> take_waiting() = 0;
  // A reward for a running attempt. conflict: it has ended, or has a reward already.
  virtual Result<void> post_reward(AttemptKey attempt, double value, std::string note) = 0;
  // An external rollout's harness is done.
  virtual Result<void> finish_external(AttemptKey attempt) = 0;
  virtual Result<void> fail_external(AttemptKey attempt, std::string reason) = 0;

  // A validation rollout of the caller's own task that waits, without a time limit, for its harness.
  virtual Result<AttemptKey> open_waiting(std::string task_json) = 0;
  // The harness of this waiting rollout starts now. conflict: it does not wait for one elsewhere.
  virtual Result<void> start_waiting(AttemptKey attempt) = 0;
  // Ends a rollout of a caller's own task if it is open, and forgets it. conflict: it is open and one
  // of the run's, or it is being graded.
  virtual Result<void> drop_external(AttemptKey attempt) = 0;
  // Attempts whose harnesses run elsewhere: one; the open ones, the oldest rollout first; the ended ones.
  virtual std::optional<RolloutStatus> look(AttemptKey attempt) const = 0;
  virtual std::vector<RolloutStatus> open_external_rollouts() const = 0;
  virtual FinishedPage finished_external(std::uint64_t after, std::size_t limit) const = 0;
  // Of a caller's own rollout, by (turn, choice). Null: they are no longer kept.
  virtual const std::vector<Call>* external_calls(AttemptKey attempt) const = 0;
  virtual ~RolloutPort() = default;
};
}  // namespace corisco::gateway
