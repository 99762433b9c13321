// The thread that owns the device: model, engine, trainer. Everything else talks to it by messages.
// Its answers are posted to the io thread. One message per decode step carries what all sequences gained.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "app/model_device.h"
#include "corisco/engine/engine.h"
#include "corisco/trainer/trainer.h"

namespace corisco::app {
class DeviceThread final : public ModelDevice {
 public:
  explicit DeviceThread(DeviceOptions options);
  ~DeviceThread() override;              // stops between two layers and joins
  // Starts the thread and loads the model there; waits for it.
  Result<DeviceFacts> start() override;

  // gateway::Generator, on the io thread.
  Result<void> submit(gateway::GenerateRequest request, OnDelta on_delta) override;
  void cancel(RequestId id) override;
  std::uint32_t context_tokens_max() const override { return facts_.context_tokens_max; }
  PolicyVersion policy_version() const override { return PolicyVersion{version_.load()}; }

  // coordinator::Device, on the io thread.
  void quiesce(std::function<void()> drained) override;
  void train(std::vector<GroupId> groups, std::function<void()> trained) override;
  void publish(std::function<void(UpdateReport)> published) override;
  void resume() override;
  void save(std::function<void(Result<std::string>)> saved) override;

  void set_num_updates(std::uint64_t num_updates) override;
  void set_checkpoint_extra(std::string json) override;
  // Sequences that decoding or prefill works on, and steps so far: the engine's progress.
  std::uint64_t num_steps() const override { return num_steps_.load(std::memory_order_relaxed); }
  bool has_live_sequences() const override { return !callbacks_.empty(); }
  double seconds_generating() const { return seconds_generating_.load(std::memory_order_relaxed); }
  std::uint64_t num_sampled_tokens() const override { return num_sampled_.load(std::memory_order_relaxed); }
  double train_progress() const override { return train_progress_.load(std::memory_order_relaxed); }

 private:
  using Task = std::function<void()>;
  void post(Task task);                  // to the device thread
  void answer(Task task);                // to the io thread
  void tell_suspended();                 // on the io thread
  Result<DeviceFacts> load();
  Result<void> restore(DeviceFacts& facts);
  void run();
  bool take_tasks();                     // false: closing
  bool is_idle() const;
  void step_engine();
  void train_slice();
  void begin_update(const std::vector<GroupId>& groups);
  Result<std::string> save_now(const std::string& extra);
  void finish_update(const std::function<void(UpdateReport)>& published);
  void report_engine_metrics();
  void deliver(std::vector<engine::EngineDelta> deltas);

  const DeviceOptions options_;
  DeviceFacts facts_;
  std::thread thread_;
  // Shared with the io thread.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Task> inbox_;
  bool is_closing_ = false;
  std::string checkpoint_extra_;
  std::atomic<std::uint64_t> version_{0}, num_steps_{0}, num_sampled_{0};
  std::atomic<double> seconds_generating_{0}, train_progress_{0};
  // Owned by the io thread.
  std::unordered_map<RequestId, OnDelta> callbacks_;
  std::uint32_t num_saves_ = 0;          // that are not answered
  bool is_quiet_ = false;                // from quiesce to resume
  // Owned by the device thread.
  std::shared_ptr<model::Decoder> decoder_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<trainer::Trainer> trainer_;
  std::unordered_map<GroupId, std::unique_ptr<Group>> whole_groups_;
  std::function<void()> on_trained_;     // set while an update is under way
  bool may_decode_ = true;
  engine::EngineStats reported_;
};
}  // namespace corisco::app
