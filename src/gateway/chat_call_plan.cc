// What a chat call asks of the engine: its prompt, what that says of earlier calls, and its choices with
// their sampling, keys and parsers.
#include <algorithm>

#include "gateway/chat_call.h"

namespace corisco::gateway {
namespace asio = boost::asio;

asio::awaitable<ChatCall::Failure> ChatCall::prepare() {
  auto made = co_await make_prompt(context_, request_, attempt_.get());
  if (auto* error = std::get_if<ApiError>(&made)) co_return std::move(*error);
  prompt_ = std::move(std::get<Prompt>(made));
  note_continuation();
  // Named, since g++ 12 destroys the default tags of a call inside a co_await expression twice.
  const bool is_reasoning = tool_calls::ends_in_reasoning(prompt_.tail_text);
  auto parsers = co_await make_parsers(is_reasoning);
  if (auto failure = plan_choices(std::move(parsers))) co_return failure;
  co_return interrupted();
}

// Whoever sends a reply back has received it, even if the connection that it came by broke.
void ChatCall::note_continuation() {
  if (!attempt_) return;
  if (!attempt_->calls.empty()) context_.metrics.continued(prompt_.match.node != nullptr);
  if (prompt_.split != SplitCause::none) context_.metrics.split(prompt_.split);
  for (const auto call : prompt_.match.calls) {
    parts_.calls->mark_delivered(call, attempt_->opening.attempt, true);
    attempt_->summary.num_delivered = std::max(attempt_->summary.num_delivered, 1U);
  }
  attempt_->retries.note_arrival(prompt_.match.calls);
  const auto side = attempt_->side_calls.note_prompt(side_facts(), prompt_.match.calls, prompt_.tail_text);
  context_.metrics.side_calls.add(static_cast<double>(side.size()));
  if (parts_.config->gateway.train_side_calls) return;
  for (const auto call : side) parts_.calls->mark_state(call, attempt_->opening.attempt, CallState::side);
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
  auto decision = decide_sampling(*parts_.config, opening(), request_);
  for (const auto* name : decision.overridden) context_.metrics.overridden(name);
  const auto context_tokens_max = parts_.generator->context_tokens_max();
  const auto max = reply_tokens_max(parts_.config->sampling, attempt_ != nullptr, request_,
                                    prompt_.ids.size(), context_tokens_max);
  if (!max) {
    if (attempt_) attempt_->summary.hit_context = true;
    return format_.context_overflow(prompt_.ids.size(), context_tokens_max);
  }
  decision.params.max_tokens = *max;
  plan_draw();
  for (std::uint32_t i = 0; i < request_.num_choices; ++i) {
    auto sampling = decision.params;
    sampling.key = key_of(i, decision.uses_client_seed);
    add_choice(std::move(parsers[i]), std::move(sampling), reply_.request_id());
  }
  return std::nullopt;
}

// request_id: that the ids of its tool calls follow from.
void ChatCall::add_choice(std::unique_ptr<tool_calls::Parser> parser, SamplingParams sampling,
                          const std::string& request_id) {
  auto hidden_ids = parts_.end_ids;
  hidden_ids.insert(hidden_ids.end(), request_.stop_ids.begin(), request_.stop_ids.end());
  ReplyReading reading{std::move(parser), context_.call_ids.seed(request_id, choices_.size()),
                       parts_.reply_syntax.tool_parser == "mistral"};
  choices_.emplace_back(ChoiceStream(parts_.tokenizer, request_.stop_strings, hidden_ids, std::move(reading)),
                        std::move(sampling));
}

// A try after one that was given up draws what that one drew; see chat_call_retry.cc.
void ChatCall::plan_draw() {
  const auto prompt = hash_ids(prompt_.ids);
  repeats_draw_ = draw_ && draw_->prompt == prompt;
  if (!repeats_draw_) draw_ = {prompt, attempt_ ? attempt_->prompts_seen[prompt] : context_.num_unseeded};
}

std::uint64_t ChatCall::key_of(std::uint32_t choice, bool uses_client_seed) const {
  const auto run_seed = parts_.config->run.seed;
  if (uses_client_seed) return client_key(*request_.sampling.seed, prompt_.ids, choice);
  if (attempt_) return rollout_key(run_seed, attempt_->opening, prompt_.ids, draw_->nth, choice);
  return unseeded_key(run_seed, draw_->nth, choice);
}
}  // namespace corisco::gateway
