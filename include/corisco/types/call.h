// One request and its sampled reply, exactly as the engine sampled it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "corisco/base/id.h"

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

// What the engine samples under. In training it comes from the run's config alone.
// Temperatures below are greedy: the most probable token is taken, and logprobs are those at 1.
inline constexpr float kGreedyBelow = 1e-5F;

struct SamplingParams {
  float temperature = 1.0F;           // 0: greedy; recorded logprobs are then those at 1
  float top_p = 1.0F;                 // 1: off
  std::uint32_t top_k = 0;            // 0: off
  float min_p = 0.0F;                 // 0: off
  std::uint32_t max_tokens = 1;       // at least 1
  std::vector<TokenId> stop_ids;      // besides the model's own end tokens
  std::vector<std::string> stop_strings;
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
  std::vector<TokenId> prompt_ids;
  std::vector<SampledToken> tokens;
  FinishReason finish = FinishReason::stop;
  float temperature = 1.0F;           // that the logprobs were taken at
  bool is_delivered = false;          // its last byte was written before the peer's close was seen
  bool is_trainable = true;           // false for greedy draws and side calls
  std::string request_json;           // messages as the harness sent them, for graders and people
  std::string reply_text;             // the reply's text; special tokens show only if it was parsed
  double started_unix_seconds = 0;
  std::vector<std::string> parse_errors;  // of tool calls that the reply wrote badly
};
}  // namespace corisco
