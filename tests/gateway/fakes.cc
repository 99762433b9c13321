#include "gateway/fakes.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

namespace corisco::gateway::fakes {
Result<std::vector<TokenId>> ByteTokenizer::encode(std::string_view text, bool with_special) const {
  const text::TextRange whole{0, text.size()};
  return encode_rendering(text, with_special ? std::span<const text::TextRange>() : std::span(&whole, 1));
}

Result<std::vector<TokenId>> ByteTokenizer::encode_rendering(std::string_view text,
                                                             std::span<const text::TextRange> literals) const {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < text.size();) {
    const auto rest = text.substr(i);
    const bool is_literal = std::any_of(literals.begin(), literals.end(),
                                        [i](const auto& range) { return range.begin <= i && i < range.end; });
    const bool is_end = !is_literal && starts_with(rest, "<|end|>");
    const bool is_start = !is_literal && starts_with(rest, "<|start|>");
    ids.push_back(is_end ? kEnd : is_start ? kStart : static_cast<unsigned char>(text[i]));
    i += is_end ? 7 : is_start ? 9 : 1;
  }
  return ids;
}

std::string ByteTokenizer::decode(std::span<const TokenId> ids, bool keep_special) const {
  std::string text;
  for (const auto id : ids) {
    if (id < 256) text += static_cast<char>(id);
    else if (keep_special) text += id == kEnd ? "<|end|>" : "<|start|>";
  }
  return text;
}

std::string ByteTokenizer::token_bytes(TokenId id) const {
  return id < 256 ? std::string(1, static_cast<char>(id)) : std::string();
}

Result<std::string> PlainTemplate::render(const text::ChatInput& input) const {
  std::string text;
  for (const auto& message : parse_json(input.messages_json)) {
    if (message["role"] == "alien") return Error{Code::invalid_argument, "no such role: alien"};
    text += cat("<|start|>", message["role"].get<std::string>(), ":",
                message["content"].get<std::string>(), "<|end|>");
  }
  return text + (input.add_generation_prompt ? "<|start|>assistant:" : "");
}

Result<void> ScriptedGenerator::submit(GenerateRequest request, OnDelta on_delta) {
  if (is_full) return Error{Code::overloaded, "the engine's queue is full"};
  const auto id = request.id;
  running[id] = std::move(on_delta);
  requests.push_back(request);
  if (is_manual) return {};
  boost::asio::post(io_, [this, id, max = request.sampling.max_tokens] { step(id, 0, max); });
  return {};
}

void ScriptedGenerator::cancel(RequestId id) {
  cancelled.push_back(id);
  running.erase(id);
}

void ScriptedGenerator::give(RequestId id, std::vector<TokenId> ids, std::optional<FinishReason> finish,
                             std::optional<Error> error) {
  const auto found = running.find(id);
  if (found == running.end()) return;
  GenerateDelta delta{id, {}, {}, finish, std::move(error), num_cached};
  if (finish) delta.routed_experts = routed_experts;
  for (const auto token : ids) {
    delta.tokens.push_back({token, -0.5F, -0.25F, version});
    if (wants_top(id)) delta.top_logprobs.push_back({{token, -0.5F}, {'z', -2.0F}});
  }
  if (told_prompts.insert(id).second) delta.prompt_logprobs = prompt_logprobs_of(id);
  const auto on_delta = found->second;
  if (finish || delta.error) running.erase(found);
  on_delta(std::move(delta));
}

std::vector<PromptLogprob> ScriptedGenerator::prompt_logprobs_of(RequestId id) const {
  std::vector<PromptLogprob> made;
  for (const auto& request : requests) {
    if (request.id != id || !request.prompt_logprobs) continue;
    for (std::size_t i = 1; i < request.prompt_ids.size(); ++i) {
      made.push_back({-1.5F, 2, {{'y', -0.5F}, {request.prompt_ids[i], -1.5F}, {'z', -2.5F}}});
      made.back().top.resize(std::min<std::size_t>(3, *request.prompt_logprobs));
    }
  }
  return made;
}

bool ScriptedGenerator::wants_top(RequestId id) const {
  for (const auto& request : requests)
    if (request.id == id) return request.sampling.top_logprobs > 0;
  return false;
}

void ScriptedGenerator::step(RequestId id, std::size_t at, std::uint32_t left) {
  if (running.count(id) == 0) return;
  if (left == 0) return give(id, {}, FinishReason::length);
  const bool is_end = at == reply.size();
  const TokenId token = is_end ? kEnd : static_cast<unsigned char>(reply[at]);
  const auto finish = is_end     ? std::optional(FinishReason::stop)
                      : left == 1 ? std::optional(FinishReason::length)
                                  : std::nullopt;
  give(id, {token}, finish);
  if (!finish) boost::asio::post(io_, [this, id, at, left] { step(id, at + 1, left - 1); });
}

boost::asio::awaitable<Result<void>> MemorySink::record(Call call) {
  if (!is_broken) calls.push_back(std::move(call));
  auto settled = co_await settle();
  co_return settled;
}

boost::asio::awaitable<Result<void>> MemorySink::settle() {
  if (is_broken) co_return Error{Code::internal, "the journal's disk is full"};
  const auto executor = co_await boost::asio::this_coro::executor;
  while (is_slow) {
    boost::asio::steady_timer timer(executor, std::chrono::milliseconds(2));
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
  co_return Result<void>();
}

Result<RolloutPort::Opened> MemoryRollouts::open_external(std::string task_json) {
  tasks.push_back(task_json);
  return Opened{{RolloutId{41}, 1}, "cor-fake", "/rollout/41/attempt/1", Mode::val, task_json};
}

Result<RolloutPort::Opened> MemoryRollouts::take_waiting() {
  if (waiting.empty()) return Error{Code::conflict, "no rollout waits"};
  return Opened{{RolloutId{42}, 2}, "cor-next", "/rollout/42/attempt/2", Mode::train, std::exchange(waiting, "")};
}

Result<void> MemoryRollouts::post_reward(AttemptKey attempt, double value, std::string note) {
  if (rewards.count(attempt) > 0) return Error{Code::conflict, "the attempt has a reward already"};
  rewards[attempt] = {value, std::move(note)};
  return {};
}

Result<void> MemoryRollouts::finish_external(AttemptKey attempt) {
  if (attempt.rollout.value == 41) return {};
  return end(attempt, Outcome::completed, "");
}

Result<void> MemoryRollouts::fail_external(AttemptKey attempt, std::string reason) {
  return end(attempt, Outcome::harness_crashed, std::move(reason));
}

Result<AttemptKey> MemoryRollouts::open_waiting(std::string task_json) {
  const AttemptKey attempt{RolloutId{next_id++}, 1};
  add({attempt, Mode::val, RolloutState::queued, false, std::move(task_json), 1e9, 1e9, {}, {}, ""});
  return open.back().attempt;
}

Result<void> MemoryRollouts::start_waiting(AttemptKey attempt) {
  auto* status = find(attempt);
  if (status == nullptr || status->state != RolloutState::queued) return Error{Code::conflict, "it does not wait"};
  status->state = RolloutState::running;
  status->changed_unix_seconds += 1;
  attempts->open({attempt, status->mode, 0, 0, 0, 0, 0});
  return {};
}

Result<void> MemoryRollouts::drop_external(AttemptKey attempt) {
  if (const auto* status = find(attempt); status != nullptr && status->is_of_run)
    return Error{Code::conflict, "it is one of the run's"};
  if (find(attempt) != nullptr) {
    attempts->close(attempt);
    std::erase_if(open, [&](const auto& one) { return one.attempt == attempt; });
  }
  std::erase_if(ended, [&](const auto& one) { return one.attempt == attempt; });
  return {};
}

std::optional<RolloutStatus> MemoryRollouts::look(AttemptKey attempt) const {
  for (const auto* list : {&open, &ended})
    for (const auto& status : *list)
      if (status.attempt == attempt) return status;
  return std::nullopt;
}

FinishedPage MemoryRollouts::finished_external(std::uint64_t after, std::size_t limit) const {
  FinishedPage page{{}, after, ended.size()};
  for (; page.next_after < ended.size() && page.items.size() < limit; ++page.next_after)
    page.items.push_back(ended[page.next_after]);
  return page;
}

const std::vector<Call>* MemoryRollouts::external_calls(AttemptKey attempt) const {
  const auto found = calls.find(attempt);
  return found == calls.end() ? nullptr : &found->second;
}

RolloutStatus* MemoryRollouts::find(AttemptKey attempt) {
  for (auto& status : open)
    if (status.attempt == attempt) return &status;
  return nullptr;
}

Result<void> MemoryRollouts::end(AttemptKey attempt, Outcome outcome, std::string note) {
  const auto* status = find(attempt);
  if (status == nullptr || status->state != RolloutState::running) return Error{Code::conflict, "it does not run"};
  attempts->close(attempt);
  auto last = *status;
  std::erase_if(open, [&](const auto& one) { return one.attempt == attempt; });
  last.state = RolloutState::finished;
  last.changed_unix_seconds += 1;
  last.outcome = outcome;
  if (rewards.count(attempt) > 0) last.reward = rewards[attempt].first;
  last.note = std::move(note);
  ended.push_back(std::move(last));
  return {};
}
}  // namespace corisco::gateway::fakes
