// Stand-ins for what the gateway needs from the daemon: a tokenizer of bytes, a chat template, a
// scripted generator, a sink and a rollout port that remember. All but the tokenizer and template
// live on the io thread.
#pragma once
#include <boost/asio/io_context.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "corisco/gateway/attempts.h"
#include "corisco/gateway/ports.h"
#include "corisco/text/chat_template.h"
#include "corisco/text/tokenizer.h"

namespace corisco::gateway::fakes {
constexpr TokenId kEnd = 256, kStart = 257;

// One token a byte; <|end|> and <|start|> are control tokens, and prefix is what it puts before a text.
class ByteTokenizer final : public text::Tokenizer {
 public:
  Result<std::vector<TokenId>> encode(std::string_view text, bool with_special) const override;
  Result<std::vector<TokenId>> encode_rendering(std::string_view text,
                                                std::span<const text::TextRange> literals) const override;
  std::string decode(std::span<const TokenId> ids, bool keep_special) const override;
  std::string token_bytes(TokenId id) const override;
  bool is_special(TokenId id) const override { return id >= 256; }
  bool strips_first_space() const override { return strips; }
  std::size_t vocabulary_size() const override { return 258; }
  std::optional<TokenId> id_of(std::string_view) const override { return std::nullopt; }
  std::vector<TokenId> own_prefix() const override { return prefix; }

  std::vector<TokenId> prefix;
  bool strips = false;
};

// "<|start|>user:hi<|end|>" per message, then "<|start|>assistant:".
class PlainTemplate final : public text::ChatTemplate {
 public:
  Result<std::string> render(const text::ChatInput& input) const override;
};

// Answers every request with reply, a token a delta, then <|end|>; or waits for the test (is_manual).
class ScriptedGenerator final : public Generator {
 public:
  explicit ScriptedGenerator(boost::asio::io_context& io) : io_(io) {}

  Result<void> submit(GenerateRequest request, OnDelta on_delta) override;
  void cancel(RequestId id) override;
  std::uint32_t context_tokens_max() const override { return context; }
  PolicyVersion policy_version() const override { return version; }

  void give(RequestId id, std::vector<TokenId> ids, std::optional<FinishReason> finish,
            std::optional<Error> error = {});

  std::string reply = "hello";
  bool is_manual = false, is_full = false;
  std::uint32_t context = 100000;
  PolicyVersion version{3};
  std::uint32_t num_cached = 0;        // prompt tokens, of every delta
  std::vector<std::uint16_t> routed_experts;   // of every last delta
  std::vector<GenerateRequest> requests;
  std::vector<RequestId> cancelled;
  std::map<RequestId, OnDelta> running;
  std::set<RequestId> told_prompts;

 private:
  // Of each token but the first: the second most probable, after 'y' and before 'z'.
  std::vector<PromptLogprob> prompt_logprobs_of(RequestId id) const;
  bool wants_top(RequestId id) const;
  void step(RequestId id, std::size_t at, std::uint32_t left);
  boost::asio::io_context& io_;
};

class MemorySink final : public CallSink {
 public:
  boost::asio::awaitable<Result<void>> record(Call call) override;
  boost::asio::awaitable<Result<void>> settle() override;
  void mark_delivered(CallId id, AttemptKey, bool is_delivered) override { delivered[id] = is_delivered; }
  void mark_state(CallId id, AttemptKey, CallState state) override { states[id] = state; }

  bool is_broken = false, is_slow = false;   // slow: a record is under way until the test says otherwise
  std::vector<Call> calls;
  std::map<CallId, bool> delivered;
  std::map<CallId, CallState> states;    // changed after the recording
};

class MemoryRollouts final : public RolloutPort {
 public:
  Result<Opened> open_external(std::string task_json) override;
  Result<Opened> take_waiting() override;
  Result<void> post_reward(AttemptKey attempt, double value, std::string note) override;
  Result<void> finish_external(AttemptKey attempt) override;
  Result<void> fail_external(AttemptKey attempt, std::string reason) override;
  Result<AttemptKey> open_waiting(std::string task_json) override;
  Result<void> start_waiting(AttemptKey attempt) override;
  Result<void> drop_external(AttemptKey attempt) override;
  std::optional<RolloutStatus> look(AttemptKey attempt) const override;
  std::vector<RolloutStatus> open_external_rollouts() const override { return open; }
  FinishedPage finished_external(std::uint64_t after, std::size_t limit) const override;
  const std::vector<Call>* external_calls(AttemptKey attempt) const override;
  void add(RolloutStatus status) { open.push_back(std::move(status)); }
  RolloutStatus* find(AttemptKey attempt);
  std::vector<std::string> tasks;
  std::string waiting;                 // a task, once
  std::map<AttemptKey, std::pair<double, std::string>> rewards;

  // Of rollouts that wait, and are read.
  Attempts* attempts = nullptr;
  std::uint64_t next_id = 50;
  std::vector<RolloutStatus> open, ended;
  std::map<AttemptKey, std::vector<Call>> calls;

 private:
  Result<void> end(AttemptKey attempt, Outcome outcome, std::string note);
};
}  // namespace corisco::gateway::fakes
