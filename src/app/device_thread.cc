#include "app/device_thread.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <filesystem>
#include <future>

#include "app/grammar_filter.h"
#include "app/stop_filter.h"
#include "app/train_batch.h"
#include "corisco/base/clock.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "corisco/model/runtime.h"

namespace corisco::app {
namespace {
// Below the io thread, so that requests are answered while the cores compute.
constexpr int kDeviceNiceness = 5;

void lower_priority() {
  const auto thread = static_cast<id_t>(::syscall(SYS_gettid));
  ::setpriority(PRIO_PROCESS, thread, ::getpriority(PRIO_PROCESS, thread) + kDeviceNiceness);
}

// Ends the micro-batch that the daemon's end finds under way.
struct Closing : std::exception {};

std::vector<gateway::TopLogprob> to_gateway(const std::vector<engine::TopLogprob>& alternatives) {
  std::vector<gateway::TopLogprob> out;
  for (const auto& each : alternatives) out.push_back({each.id, each.logprob});
  return out;
}

gateway::GenerateDelta to_gateway(engine::EngineDelta delta) {
  gateway::GenerateDelta out{delta.id, std::move(delta.tokens), {}, delta.finish, std::move(delta.error),
                             delta.num_reused_prompt_tokens, std::move(delta.routed_experts)};
  for (const auto& alternatives : delta.top_logprobs) out.top_logprobs.push_back(to_gateway(alternatives));
  for (const auto& token : delta.prompt_logprobs)
    out.prompt_logprobs.push_back({token.logprob, token.rank, to_gateway(token.top)});
  return out;
}
}  // namespace

DeviceThread::DeviceThread(DeviceOptions options) : options_(std::move(options)) {}

DeviceThread::~DeviceThread() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Result<DeviceFacts> DeviceThread::start() {
  std::promise<Result<DeviceFacts>> loaded;
  auto result = loaded.get_future();
  thread_ = std::thread([this, &loaded] {
    lower_priority();
    auto facts = load();
    const bool ok = facts.ok();
    if (ok) facts_ = facts.value();
    loaded.set_value(std::move(facts));
    if (ok) run();
    trainer_.reset();
    engine_.reset();
    decoder_.reset();
  });
  return result.get();
}

Result<DeviceFacts> DeviceThread::load() {
  const auto& config = *options_.config;
  model::use_threads(config.model.threads);
  auto decoder = model::load_decoder(config.model, config.engine.deterministic);
  if (!decoder.ok()) return decoder.error();
  decoder_ = std::move(decoder).value();
  DeviceFacts facts;
  facts.end_ids = model::end_ids(*decoder_);
  const bool records_routing = options_.has_trainer && config.trainer.replay_routing;
  CORISCO_TRY(engine_, engine::Engine::create(*decoder_, config.engine, facts.end_ids, records_routing));
  if (options_.has_trainer) {
    facts.seconds_per_token = model::seconds_per_token(*decoder_);
    CORISCO_TRY(trainer_, trainer::Trainer::create(*decoder_, config.trainer, config.run.updates));
    model::set_between_layers(*decoder_, [this] {
      if (!take_tasks()) throw Closing{};
    });
    if (options_.restore) {
      CORISCO_CHECK(restore(facts));
    }
  }
  facts.capability = model::capability_line(*decoder_);
  facts.context_tokens_max = engine_->context_tokens_max();
  facts.num_parameters = model::num_parameters(*decoder_);
  return facts;
}

// A run that was stopped before its first checkpoint goes on from the initial weights; damaged
// checkpoints are an error.
Result<void> DeviceThread::restore(DeviceFacts& facts) {
  const auto restored = trainer_->restore(options_.checkpoint_folder);
  std::error_code unknown;
  const bool has_none = !restored.ok() && restored.error().code == Code::not_found &&
                        (std::filesystem::is_empty(options_.checkpoint_folder, unknown) || unknown);
  if (has_none) {
    facts.restored_from = "the initial weights";
    return {};
  }
  if (!restored.ok()) return restored.error();
  facts.version = restored.value().version;
  facts.has_checkpoint = true;
  facts.num_updates = restored.value().num_updates;
  facts.restored_from = restored.value().folder;
  facts.restored_extra_json = restored.value().extra_json;
  engine_->set_policy_version(facts.version);
  version_ = facts.version.value;
  return {};
}

// Consumes the inbox; waits for it when there is nothing to decode or train; produces deltas and
// acknowledgements on the io thread; unblocked by post() and by the destructor.
void DeviceThread::run() {
  while (take_tasks()) {
    if (on_trained_) {
      train_slice();
    } else if (may_decode_ && engine_->has_work()) {
      step_engine();
    }
  }
}

bool DeviceThread::take_tasks() {
  std::vector<Task> tasks;
  {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return is_closing_ || !inbox_.empty() || !is_idle(); });
    if (is_closing_) return false;
    tasks.swap(inbox_);
  }
  for (auto& task : tasks) task();
  return true;
}

bool DeviceThread::is_idle() const { return !on_trained_ && !(may_decode_ && engine_->has_work()); }

void DeviceThread::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void DeviceThread::answer(Task task) { boost::asio::post(*options_.io, std::move(task)); }

void DeviceThread::step_engine() {
  const auto begin = real_clock().now();
  auto deltas = engine_->step();
  const auto stats = engine_->stats();
  num_steps_ = stats.num_steps;
  num_sampled_ = stats.num_sampled_tokens;
  seconds_generating_ = seconds_generating_ + seconds_between(begin, real_clock().now());
  report_engine_metrics();
  if (!deltas.empty()) deliver(std::move(deltas));
}

void DeviceThread::deliver(std::vector<engine::EngineDelta> deltas) {
  auto shared = std::make_shared<std::vector<engine::EngineDelta>>(std::move(deltas));
  answer([this, shared] {
    for (auto& delta : *shared) {
      const auto found = callbacks_.find(delta.id);
      if (found == callbacks_.end()) continue;  // cancelled meanwhile
      const bool is_last = delta.finish.has_value() || delta.error.has_value();
      auto on_delta = is_last ? std::move(found->second) : found->second;
      if (is_last) callbacks_.erase(found);
      on_delta(to_gateway(std::move(delta)));
    }
  });
}

Result<void> DeviceThread::submit(gateway::GenerateRequest request, OnDelta on_delta) {
  const auto& limits = options_.config->engine;
  if (callbacks_.size() >= sequences_max(limits)) return queue_is_full(limits);
  callbacks_.emplace(request.id, std::move(on_delta));
  engine::EngineRequest native;
  native.id = request.id;
  native.queue_order = request.queue_order;
  native.prompt_ids = std::move(request.prompt_ids);
  native.prompt_logprobs = request.prompt_logprobs;
  if (!request.sampling.stop_strings.empty())
    native.filter = make_stop_filter(options_.tokenizer, request.sampling.stop_strings, request.sampling.min_tokens);
  if (request.grammar) native.filter = make_grammar_filter(std::move(request.grammar), std::move(native.filter));
  native.sampling = std::move(request.sampling);
  auto shared = std::make_shared<engine::EngineRequest>(std::move(native));
  post([this, shared] { engine_->add(std::move(*shared)); });
  return {};
}

void DeviceThread::cancel(RequestId id) {
  if (callbacks_.erase(id) == 0) return;
  post([this, id] {
    engine_->cancel(id);
    report_engine_metrics();
  });
}

void DeviceThread::quiesce(std::function<void()> drained) {
  is_quiet_ = true;
  tell_suspended();
  post([this, drained = std::move(drained)] {
    engine_->suspend_all();
    may_decode_ = false;
    answer(drained);
  });
}

void DeviceThread::train(std::vector<GroupId> groups, std::function<void()> trained) {
  post([this, groups = std::move(groups), trained = std::move(trained)] {
    engine_->release_memory();
    begin_update(groups);
    on_trained_ = trained;
  });
}

void DeviceThread::begin_update(const std::vector<GroupId>& groups) {
  while (auto group = options_.groups->try_pop()) whole_groups_.emplace(group->id, std::move(group));
  std::vector<std::unique_ptr<Group>> chosen;
  for (const auto id : groups) {
    const auto found = whole_groups_.find(id);
    CORISCO_ASSERT(found != whole_groups_.end(), cat("group ", id, " was never handed over"));
    chosen.push_back(std::move(found->second));
    whole_groups_.erase(found);
  }
  trainer_->begin(make_train_batch(chosen, options_.config->samples, *options_.metrics), trainer_->version());
}

void DeviceThread::train_slice() {
  bool more = false;
  try {
    more = trainer_->advance();
  } catch (const Closing&) {
    return;                              // run() ends; nothing of the update was published
  }
  train_progress_ = trainer_->progress();
  if (more) return;
  answer(std::exchange(on_trained_, nullptr));
}

void DeviceThread::publish(std::function<void(UpdateReport)> published) {
  post([this, published = std::move(published)] { finish_update(published); });
}

void DeviceThread::finish_update(const std::function<void(UpdateReport)>& published) {
  const auto report = trainer_->publish();
  if (!report.was_skipped) engine_->set_policy_version(report.policy_version);
  version_ = report.policy_version.value;
  train_progress_ = 0;
  answer([published, report] { published(report); });
}

void DeviceThread::resume() {
  is_quiet_ = false;
  tell_suspended();
  post([this] { may_decode_ = true; });
}

// While it saves, the thread decodes nothing.
void DeviceThread::tell_suspended() { options_.on_suspended(is_quiet_ || num_saves_ > 0); }

void DeviceThread::set_num_updates(std::uint64_t num_updates) {
  post([this, num_updates] { trainer_->set_num_updates(num_updates); });
}

void DeviceThread::set_checkpoint_extra(std::string json) {
  const std::lock_guard lock(mutex_);
  checkpoint_extra_ = std::move(json);
}

Result<std::string> DeviceThread::save_now(const std::string& extra) {
  if (options_.before_save) CORISCO_CHECK(options_.before_save());
  return trainer_->save(options_.checkpoint_folder, options_.config->model.path, extra);
}

void DeviceThread::save(std::function<void(Result<std::string>)> saved) {
  ++num_saves_;
  tell_suspended();
  post([this, saved = std::move(saved)] {
    std::string extra;
    {
      const std::lock_guard lock(mutex_);
      extra = checkpoint_extra_;
    }
    auto folder = save_now(extra);
    answer([this, saved, folder = std::move(folder)] {
      --num_saves_;
      tell_suspended();
      saved(folder);
    });
  });
}

void DeviceThread::report_engine_metrics() {
  const auto now = engine_->stats();
  auto& metrics = *options_.metrics;
  const auto count = [&](const char* name, std::uint64_t before, std::uint64_t after) {
    if (after > before) metrics.counter(name).add(static_cast<double>(after - before));
  };
  count("corisco_engine_steps_total", reported_.num_steps, now.num_steps);
  count("corisco_engine_tokens_sampled_total", reported_.num_sampled_tokens, now.num_sampled_tokens);
  count("corisco_engine_prompt_tokens_total", reported_.num_prompt_tokens, now.num_prompt_tokens);
  count("corisco_engine_prompt_tokens_reused_total", reported_.num_reused_prompt_tokens, now.num_reused_prompt_tokens);
  count("corisco_engine_tokens_recomputed_total", reported_.num_recomputed_tokens, now.num_recomputed_tokens);
  count("corisco_engine_preempted_total", reported_.num_preempted, now.num_preempted);
  count("corisco_engine_nonfinite_total", reported_.num_nonfinite, now.num_nonfinite);
  metrics.gauge("corisco_engine_sequences_running").set(now.num_running);
  metrics.gauge("corisco_engine_sequences_waiting").set(now.num_waiting);
  metrics.gauge("corisco_engine_kv_blocks").set(now.num_kv_blocks);
  metrics.gauge("corisco_engine_kv_blocks_used").set(now.num_kv_blocks_used);
  reported_ = now;
}
}  // namespace corisco::app
