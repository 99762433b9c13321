// One request and its sampled reply, exactly as the engine sampled it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "corisco/base/id.h"
#include "corisco/types/shared_prefix.h"

namespace corisco {
using TokenId = std::int32_t;

// One try at a rollout. Attempts of a rollout are numbered from 1.
struct AttemptKey {
  RolloutId rollout;
  std::uint32_t attempt = 0;
  friend auto operator<=>(const AttemptKey&, const AttemptKey&) = default;
};

// What the engine records for each token, at the moment it is drawn.
// sampled_logprob: natural log of its probability at the sampling temperature over the full
//   vocabulary, before any truncation; this is what the trainer's ratio compares with.
// drawn_logprob: of the distribution that it was drawn from (after top-k, top-p, min-p, bias);
//   equal to sampled_logprob when nothing truncates.
struct SampledToken {
  TokenId id = 0;
  float sampled_logprob = 0;
  float drawn_logprob = 0;
  PolicyVersion policy_version;
};

enum class FinishReason : std::uint8_t {
  stop,     // an end token, a stop token or a stop string
  length,   // max_tokens or the context window
  aborted,  // the daemon ended it (shutdown, engine error); never shown as a normal end
};
const char* to_string(FinishReason reason);

// What became of a call.
enum class CallState : std::uint8_t {
  used,        // an ordinary one
  superseded,  // its reply never arrived, and the request was made again: the retry was sampled anew
  aborted,     // it ended before its reply did: the client left, the rollout ended, the engine failed
  side,        // beside the task: a title, a topic; or a sub-agent's that the config leaves out
  frozen,      // asked of a name that the model serves without being trained: gateway.frozen_names
  several_models,   // its attempt used several model names, and which of them is the policy was not declared
};
const char* to_string(CallState state);

// Why a call began a branch instead of going on from an earlier call. The first list is decided where
// prompts are made, by what differs from the nearest earlier call; the second where rows are.
enum class SplitCause : std::uint8_t {
  none,                 // it goes on from an earlier call
  first,                // there was none
  new_conversation,     // other messages from the first one after the system prompt on: a sub-agent's
  system_changed,
  tools_changed,
  history_dropped,      // earlier messages are gone: compaction
  history_changed,      // an earlier message that is not a reply reads otherwise
  reply_changed,        // a reply came back with another meaning
  reasoning_dropped,    // by the harness or by the chat template
  template_changed,     // the same messages, rendered otherwise: other template arguments, a rewritten past
  stop_string,          // the reply was cut by a stop string: how it would have ended is not known
  exact_serving,        // a harmless difference, while gateway.exact_serving is on
  // ---
  prefix_changed,       // no earlier call's tokens are a prefix of its prompt, for a cause not recorded
  forked,               // it goes on from a call that another one goes on from already
  temperature_changed,  // it goes on from a call whose logprobs were taken at another temperature
};
const char* to_string(SplitCause cause);

// What the engine samples under. In training it comes from the run's config alone.
// Temperatures below are greedy: the most probable token is taken, and logprobs are those at 1.
inline constexpr float kGreedyBelow = 1e-5F;

struct LogitBias {
  TokenId id = 0;
  float bias = 0;
};

// Penalties and biases act on the logits, before the temperature: the repetition penalty on tokens of the
// prompt and the reply, the other two on the reply's alone (as vLLM does).
struct SamplingParams {
  float temperature = 1.0F;           // 0: greedy; recorded logprobs are then those at 1
  float top_p = 1.0F;                 // 1: off
  std::uint32_t top_k = 0;            // 0: off
  float min_p = 0.0F;                 // 0: off
  float repetition_penalty = 1.0F;    // 1: off; logits above 0 are divided by it, others multiplied
  float presence_penalty = 0.0F;      // 0: off; subtracted once from tokens that the reply has
  float frequency_penalty = 0.0F;     // 0: off; subtracted for each time that the reply has them
  std::vector<LogitBias> logit_bias;  // added to the logits of these tokens
  std::uint32_t min_tokens = 0;       // no end token, stop token or stop string before so many
  std::uint32_t max_tokens = 1;       // 0: nothing is drawn, the prompt alone is computed
  std::vector<TokenId> stop_ids;      // besides the model's own end tokens
  std::vector<std::string> stop_strings;
  bool ignores_end = false;           // the model's own end tokens don't end the reply (benchmarks)
  std::uint32_t top_logprobs = 0;     // how many alternatives to report per token
  std::uint64_t key = 0;              // with the position, decides every draw
};

// A call with n choices is n Calls with the same prompt and turn.
//   prompt_ids [P]   what the engine was given
//   tokens     [T]   what it drew, the end token included; never encoded again from text
struct Call {
  CallId id;
  AttemptKey attempt;
  std::uint32_t turn = 0;             // index of the request in its attempt, from 0
  std::uint32_t choice = 0;           // index among the n choices of the request
  SharedPrefix<TokenId> prompt_ids;
  std::vector<SampledToken> tokens;
  FinishReason finish = FinishReason::stop;
  float temperature = 1.0F;           // that the logprobs were taken at
  bool is_delivered = false;          // its last byte was written before the peer's close was seen
  bool is_trainable = true;           // false for greedy draws, validation, side and frozen calls
  CallState state = CallState::used;
  SplitCause split = SplitCause::none;
  SharedPrefix<char> request_json;    // messages as the harness sent them, for graders and people
  std::string reply_text;             // the reply's text; special tokens show only if it was parsed
  double started_unix_seconds = 0;
  std::vector<std::string> parse_errors;  // of tool calls that the reply wrote badly
  // Of a mixture-of-experts model, if the run asks for it: the experts that each token went to when it was
  // sampled, [P + T - 1, expert layers, experts per token]. Empty: not recorded.
  SharedPrefix<std::uint16_t> routed_experts;
  // An earlier recorded call of the attempt, and how much of it this one begins with: what need not be
  // stored again. base 0: none.
  CallId base;
  std::uint32_t base_tokens = 0;          // first ids of base's prompt_ids followed by its tokens
  std::uint32_t base_request_bytes = 0;   // first bytes of base's request_json
};
}  // namespace corisco
