// What a chat call asks for, in native values, whichever wire format it came in.
// A format ignores a field that is unknown and harmless, and refuses by name one that would change
// the result and is not supported.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "corisco/types/call.h"
#include "gateway/reply_form.h"

namespace corisco::gateway {
// What the client wants of the sampler; the run's policy decides what it gets.
struct ClientSampling {
  std::optional<double> temperature, top_p, min_p;
  std::optional<double> repetition_penalty, presence_penalty, frequency_penalty;
  std::vector<LogitBias> logit_bias;     // in the order of their ids
  std::optional<std::uint32_t> top_k, min_tokens;
  std::optional<bool> ignores_end;
  std::optional<std::int64_t> seed;
};

struct ResponsesTurn;

// What a model name stands for.
enum class ModelRole : std::uint8_t {
  policy,      // the model in training
  frozen,      // the same model, whose replies are not trained: gateway.frozen_names
  upstream,    // another server's: gateway.upstream_urls
};

struct ChatRequest {
  std::string model;                     // any name; empty: none was sent
  ModelRole role = ModelRole::policy;    // that the config gives the name; not part of the body
  std::string own_id;                    // that the client gave the request, to be echoed; empty: none
  std::string messages_json;             // for the template: in OpenAI's form, contents are texts
  std::string sent_messages_json;        // as they came
  // A completion's prompt, in place of messages: text, or ids taken as they are. No template renders
  // it, and the reply is text as sampled.
  std::optional<std::string> prompt_text;
  std::vector<TokenId> prompt_ids;
  const char* prompt_ids_name = "prompt";   // the field that they came in
  bool adds_prompt_prefix = true;        // before prompt_text, what the tokenizer puts before a text
  bool is_completion() const { return prompt_text.has_value() || !prompt_ids.empty(); }
  std::string tools_json;                // in OpenAI's form; empty: none
  bool is_subagents = false;             // as its head or body says
  std::uint32_t num_tools_left_out = 0;  // those that the vendor's own servers run
  bool reads_tool_calls = true;          // false: the client wants none (tool_choice "none")
  ReplyForm form;
  ForcedCall forced_call;
  bool allows_several_calls = true;      // of a forced call
  std::vector<std::string> strict_tools; // names of tools whose arguments must obey their schemas
  std::string template_kwargs_json;      // chat_template_kwargs; empty: none
  bool adds_generation_prompt = true;
  bool is_stream = false;
  bool includes_usage = false;           // of a stream, in a chunk of its own (stream_options)
  bool returns_token_ids = false;
  bool returns_logprobs = false;
  std::uint32_t top_logprobs = 0;
  std::optional<std::uint32_t> prompt_logprobs;   // alternatives of each prompt token; none: not asked for
  const char* prompt_logprobs_name = "prompt_logprobs";   // the field that asked for them
  std::uint32_t prompt_logprobs_from = 0;   // of tokens before this one they are not shown (SGLang)
  bool echoes_prompt = false;            // a completion's texts begin with the prompt's, its logprobs too
  bool echoes_logprobs() const { return echoes_prompt && returns_logprobs; }
  // What the generator is asked for in both places: alternatives of each prompt token.
  std::optional<std::uint32_t> prompt_alternatives() const {
    if (!echoes_logprobs()) return prompt_logprobs;
    return std::max(prompt_logprobs.value_or(0), top_logprobs);
  }
  // Entries of the prompt's log-probabilities in the reply; each choice of a completion has them.
  std::size_t num_prompt_logprobs(std::size_t prompt_tokens) const {
    std::size_t entries = prompt_logprobs ? 1 + *prompt_logprobs : 0;
    if (echoes_logprobs()) entries += 1 + top_logprobs;
    return prompt_tokens * entries * (is_completion() ? num_choices : 1);
  }
  std::uint32_t num_choices = 1;
  std::optional<std::uint32_t> max_tokens;
  bool samples_nothing() const { return max_tokens == 0U; }   // its reply is the prompt's echo, or its scores
  std::vector<std::string> stop_strings;
  std::vector<TokenId> stop_ids;
  ClientSampling sampling;
  std::shared_ptr<ResponsesTurn> responses;   // what only the Responses API has; null: another format
};

struct ChatLimits {
  std::uint32_t choices_max = 16;
  std::size_t messages_max = 4096;
  std::size_t tools_max = 512;
  std::size_t stops_max = 16;
};
}  // namespace corisco::gateway
