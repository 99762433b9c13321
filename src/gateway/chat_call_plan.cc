// What a chat call asks of the engine: its prompt, what that says of earlier calls, and its choices with
// their sampling, keys and parsers.
#include <algorithm>

#include "gateway/chat_call.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
constexpr std::size_t kPromptLogprobsMax = 1U << 18;   // of one reply: some 20 MB of JSON

// The reply is built whole, so that what a long prompt makes of it has a limit.
std::optional<ApiError> too_many_logprobs(const ChatRequest& request, std::size_t prompt_tokens) {
  const auto count = request.num_prompt_logprobs(prompt_tokens);
  if (count <= kPromptLogprobsMax) return std::nullopt;
  const char* asked_by = request.prompt_logprobs ? request.prompt_logprobs_name : "logprobs";
  return invalid_request(cat("'", asked_by, "' would give ", count, " log-probabilities of the prompt, and a reply ",
                             "has at most ", kPromptLogprobsMax, ": ask for fewer alternatives, or of a shorter ",
                             "prompt"),
                         asked_by, "invalid_value");
}
}  // namespace

asio::awaitable<ChatCall::Failure> ChatCall::prepare() {
  auto made = co_await make_prompt(context_, request_, attempt_.get());
  if (auto* error = std::get_if<ApiError>(&made)) co_return std::move(*error);
  prompt_ = std::move(std::get<Prompt>(made));
  note_continuation();
  // Named, since g++ 12 destroys the default tags of a call inside a co_await expression twice.
  const bool is_reasoning = ends_in_reasoning(prompt_.tail_text, parts_.reply_syntax);
  if (auto failure = co_await make_grammar()) co_return failure;
  auto parsers = co_await make_parsers(is_reasoning);
  if (auto failure = plan_choices(std::move(parsers))) co_return failure;
  co_return interrupted();
}

// Whoever sends a reply back has received it, even if the connection that it came by broke.
void ChatCall::note_continuation() {
  if (!attempt_) return;
  const bool has_earlier = !attempt_->conversations_of(request_).calls.empty();
  if (!is_frozen() && has_earlier) context_.metrics.continued(prompt_.match.node != nullptr);
  if (!is_frozen() && prompt_.split != SplitCause::none) context_.metrics.split(prompt_.split);
  for (const auto call : prompt_.match.calls) {
    parts_.calls->mark_delivered(call, attempt_->opening.attempt, true);
    attempt_->summary.num_delivered = std::max(attempt_->summary.num_delivered, 1U);
  }
  attempt_->retries.note_arrival(prompt_.match.calls);
  if (is_frozen()) return;
  note_side_calls(attempt_->side_calls.note_prompt(side_facts(), prompt_.match.calls, prompt_.tail_text));
}

asio::awaitable<ChatCall::Parsers> ChatCall::make_parsers(bool is_reasoning) {
  if (request_.is_completion()) co_return Parsers(request_.num_choices);   // all of it is text
  const bool reads_calls = request_.reads_tool_calls && !parts_.reply_syntax.tool_parser.empty();
  const auto tools_json = reads_calls ? request_.tools_json : std::string();
  const auto size = tools_json.size();
  auto make = [&syntax = parts_.reply_syntax, tools_json, is_reasoning, count = request_.num_choices] {
    return make_reply_parsers(syntax, tools_json, is_reasoning, count);
  };
  auto parsers = co_await context_.worker.run(size, std::move(make));
  co_return parsers;
}

ChatCall::Failure ChatCall::plan_choices(Parsers parsers) {
  const bool is_runs = attempt_ != nullptr && !is_frozen();   // to decide, else the client's
  auto decision = decide_sampling(*parts_.config, is_runs ? opening() : nullptr, request_);
  for (const auto* name : decision.overridden) context_.metrics.overridden(name);
  const auto context_tokens_max = parts_.generator->context_tokens_max();
  const auto max = reply_tokens_max(parts_.config->sampling, is_runs, request_,
                                    prompt_.ids.size(), context_tokens_max);
  if (!max) {
    if (is_runs) attempt_->summary.hit_context = true;
    return format_.context_overflow(prompt_.ids.size(), context_tokens_max);
  }
  if (auto failure = too_many_logprobs(request_, prompt_.ids.size())) return failure;
  decision.params.max_tokens = *max;
  plan_draw();
  for (std::uint32_t i = 0; i < request_.num_choices; ++i) {
    auto sampling = decision.params;
    sampling.key = key_of(i, decision.uses_client_seed);
    add_choice(std::move(parsers[i]), std::move(sampling), call_id_seed(i));
  }
  return std::nullopt;
}

// Like the sampling key the same when a run that was killed makes the call again, since templates may print
// the ids into prompts. Only a reply that was given up has others than the one in its place.
std::string ChatCall::call_id_seed(std::uint32_t choice) const {
  if (!attempt_) return context_.call_ids.seed(cat(reply_.request_id(), "/", choice));
  const auto& opening = attempt_->opening;
  const auto draw =
      hash_words({opening.task_occurrence, opening.sibling, opening.salt, draw_->prompt, draw_->nth, choice});
  return context_.call_ids.seed(cat(hex(draw), "/", draw_->num_given_up));
}

void ChatCall::add_choice(std::unique_ptr<tool_calls::Parser> parser, SamplingParams sampling,
                          std::string call_id_seed) {
  auto hidden_ids = parts_.end_ids;
  hidden_ids.insert(hidden_ids.end(), request_.stop_ids.begin(), request_.stop_ids.end());
  ReplyReading reading{std::move(parser), call_id_seeds_.emplace_back(std::move(call_id_seed)),
                       parts_.reply_syntax.tool_parser == "mistral", sampling.min_tokens, request_.echoes_prompt};
  choices_.emplace_back(ChoiceStream(parts_.tokenizer, request_.stop_strings, hidden_ids, std::move(reading)),
                        std::move(sampling));
}

// A try after one that was given up draws what that one drew; see chat_call_retry.cc.
void ChatCall::plan_draw() {
  const auto prompt = hash_ids(prompt_.ids);
  repeats_draw_ = draw_ && draw_->prompt == prompt;
  if (repeats_draw_) return;
  draw_ = {prompt, attempt_ ? attempt_->conversations_of(request_).prompts_seen[prompt] : context_.num_unseeded};
}

std::uint64_t ChatCall::key_of(std::uint32_t choice, bool uses_client_seed) const {
  const auto run_seed = parts_.config->run.seed;
  if (uses_client_seed) return client_key(*request_.sampling.seed, prompt_.ids, choice);
  if (attempt_) {
    const auto key = rollout_key(run_seed, attempt_->opening, prompt_.ids, draw_->nth, choice);
    return is_frozen() ? frozen_key(key) : key;
  }
  return unseeded_key(run_seed, draw_->nth, choice);
}
}  // namespace corisco::gateway
