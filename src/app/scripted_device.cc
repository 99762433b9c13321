#include "app/scripted_device.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>

#include "corisco/base/assert.h"
#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace asio = boost::asio;
namespace {
constexpr std::size_t kPromptTokensOnIoMax = 4096;
constexpr std::uint32_t kContextTokensMax = 1U << 20;   // unless the config says less

// The end token that a model folder's tokenizer_config.json names.
Result<TokenId> end_id(const std::string& folder, const text::Tokenizer& tokenizer) {
  const auto file = folder + "/tokenizer_config.json";
  CORISCO_TRY(const std::string content, files::read(file));
  const auto json = parse_json(content);
  const auto end = json.is_object() ? json.value("eos_token", nlohmann::json()) : nlohmann::json();
  const auto text = end.is_object() ? end.value("content", nlohmann::json()) : end;
  const auto id = text.is_string() ? tokenizer.id_of(text.get<std::string>()) : std::nullopt;
  if (!id) return Error{Code::invalid_argument, cat(file, ": eos_token must name a token of tokenizer.json")};
  return *id;
}
}  // namespace

ScriptedDevice::ScriptedDevice(DeviceOptions options)
    : options_(std::move(options)), sampled_(options_.metrics->counter("corisco_engine_tokens_sampled_total")),
      timer_(*options_.io) {}

ScriptedDevice::~ScriptedDevice() { reader_.join(); }

Result<DeviceFacts> ScriptedDevice::start() {
  CORISCO_TRY(script_, Script::load(options_.config->engine.script, *options_.tokenizer));
  CORISCO_TRY(const TokenId end, end_id(options_.config->model.path, *options_.tokenizer));
  facts_.end_ids = {end};
  facts_.capability = cat("answers by the script ", options_.config->engine.script);
  const auto limit = options_.config->engine.context_tokens_max;
  facts_.context_tokens_max = limit > 0 ? limit : kContextTokensMax;
  return facts_;
}

Result<void> ScriptedDevice::submit(gateway::GenerateRequest request, OnDelta on_delta) {
  const auto& limits = options_.config->engine;
  if (sequences_.size() >= sequences_max(limits)) return queue_is_full(limits);
  if (request.prompt_logprobs)
    return Error{Code::invalid_argument, "'prompt_logprobs', or 'echo' with 'logprobs', needs a model, and a script "
                                         "answers here (engine.script): leave it out"};
  sequences_[request.id].on_delta = std::move(on_delta);
  const auto max_tokens = request.sampling.max_tokens;
  if (request.prompt_ids.size() <= kPromptTokensOnIoMax && !request.grammar) {
    asio::post(*options_.io, [this, id = request.id, max_tokens, prompt_ids = std::move(request.prompt_ids)] {
      begin(id, max_tokens, read(prompt_ids));
    });
    return {};
  }
  asio::post(reader_, [this, id = request.id, max_tokens, grammar = std::move(request.grammar),
                       prompt_ids = std::move(request.prompt_ids)] {
    auto reply = read(prompt_ids);
    if (reply.ok() && grammar) reply = obeying(*grammar, std::move(reply).value());
    asio::post(*options_.io, [this, id, max_tokens, reply = std::move(reply)] { begin(id, max_tokens, reply); });
  });
  return {};
}

Result<std::vector<TokenId>> ScriptedDevice::read(const std::vector<TokenId>& prompt_ids) const {
  const auto* reply = script_.reply_to_all();
  if (reply == nullptr) reply = script_.reply_to(options_.tokenizer->decode(prompt_ids, true));
  if (reply == nullptr)
    return Error{Code::invalid_argument, cat("no rule of ", options_.config->engine.script, " matches this prompt")};
  auto tokens = *reply;
  tokens.push_back(facts_.end_ids.front());
  return tokens;
}

// A script says what it says: where that is not in the grammar, the request fails. It ends where the grammar
// is complete, as a model's reply does.
Result<std::vector<TokenId>> ScriptedDevice::obeying(const text::Grammar& grammar, std::vector<TokenId> reply) const {
  CORISCO_TRY(const auto matcher, grammar.start());
  bool is_obeyed = true;
  for (std::size_t i = 0; i + 1 < reply.size() && is_obeyed; ++i) {
    is_obeyed = matcher->consume(reply[i]).ok();
    if (is_obeyed && matcher->is_complete()) reply.resize(i + 1);
  }
  if (is_obeyed && !matcher->is_complete()) {
    CORISCO_TRY(is_obeyed, matcher->may_end());
  }
  if (is_obeyed) return reply;
  return Error{Code::invalid_argument,
               cat("the reply of ", options_.config->engine.script, " to this prompt is not in the form that the "
                   "request demands (response_format, tool_choice)")};
}

void ScriptedDevice::begin(RequestId id, std::uint32_t max_tokens, Result<std::vector<TokenId>> reply) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;   // cancelled meanwhile
  auto& sequence = found->second;
  if (!reply.ok()) {
    const auto on_delta = std::move(sequence.on_delta);
    sequences_.erase(found);
    gateway::GenerateDelta failed;
    failed.id = id;
    failed.error = reply.error();
    return on_delta(std::move(failed));
  }
  sequence.tokens = std::move(reply).value();
  sequence.is_cut = sequence.tokens.size() > max_tokens;
  if (sequence.is_cut) sequence.tokens.resize(max_tokens);
  sequence.has_reply = true;
  if (is_stepping_) return;
  step_due_ = real_clock().now();
  step();
}

// One token for each sequence, as a decode step of a model gives; without a rate, all of it.
void ScriptedDevice::step() {
  is_stepping_ = false;
  if (is_suspended_) return;
  const bool has_rate = options_.config->engine.script_tokens_per_second > 0;
  std::vector<RequestId> ready;
  for (const auto& [id, sequence] : sequences_)
    if (sequence.has_reply) ready.push_back(id);
  if (ready.empty()) return;
  ++num_steps_;
  for (const auto id : ready) advance(id, has_rate ? 1 : sequences_[id].tokens.size());
  if (has_rate && !sequences_.empty()) step_later();
}

void ScriptedDevice::step_later() {
  is_stepping_ = true;
  const std::chrono::duration<double> period(1 / options_.config->engine.script_tokens_per_second);
  // From when the last one was due, so that the rate does not sink by what a step takes.
  step_due_ = std::max(step_due_ + std::chrono::duration_cast<Duration>(period), real_clock().now());
  timer_.expires_at(step_due_);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) step();
  });
}

void ScriptedDevice::advance(RequestId id, std::size_t num_tokens) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;   // cancelled by another's delta
  auto& sequence = found->second;
  gateway::GenerateDelta delta;
  delta.id = id;
  const auto end = std::min(sequence.next + num_tokens, sequence.tokens.size());
  for (; sequence.next < end; ++sequence.next) delta.tokens.push_back({sequence.tokens[sequence.next], 0, 0, {}});
  num_sampled_ += delta.tokens.size();
  sampled_.add(static_cast<double>(delta.tokens.size()));
  const bool is_last = sequence.next == sequence.tokens.size();
  if (is_last) delta.finish = sequence.is_cut ? FinishReason::length : FinishReason::stop;
  const auto on_delta = is_last ? std::move(sequence.on_delta) : sequence.on_delta;
  if (is_last) sequences_.erase(found);
  on_delta(std::move(delta));
}

void ScriptedDevice::quiesce(std::function<void()> drained) {
  options_.on_suspended(true);
  is_suspended_ = true;
  asio::post(*options_.io, std::move(drained));
}

void ScriptedDevice::resume() {
  options_.on_suspended(false);
  is_suspended_ = false;
  if (!is_stepping_) asio::post(*options_.io, [this] { step(); });
}

void ScriptedDevice::train(std::vector<GroupId>, std::function<void()>) {
  CORISCO_ASSERT(false, std::string("a script is trained, though the config refuses it"));
}

void ScriptedDevice::publish(std::function<void(UpdateReport)>) {
  CORISCO_ASSERT(false, std::string("a script is published, though the config refuses it"));
}

void ScriptedDevice::save(std::function<void(Result<std::string>)> saved) {
  asio::post(*options_.io, [saved = std::move(saved)] {
    saved(Error{Code::invalid_argument, "a script has no weights to save"});
  });
}
}  // namespace corisco::app
