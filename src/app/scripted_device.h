// A script in the model's place: the tokens of its rules' replies go the same way as sampled ones,
// through recording, parsing and streaming. For harnesses, protocol tests and benchmarks of the
// gateway; never trained. Io thread, but for long prompts and replies that must obey a grammar, which are
// read on a thread of its own.
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <map>
#include <string>

#include "app/model_device.h"
#include "app/script.h"
#include "corisco/base/clock.h"
#include "corisco/text/grammar.h"

namespace corisco::app {
class ScriptedDevice final : public ModelDevice {
 public:
  explicit ScriptedDevice(DeviceOptions options);
  ~ScriptedDevice() override;
  Result<DeviceFacts> start() override;

  Result<void> submit(gateway::GenerateRequest request, OnDelta on_delta) override;
  void cancel(RequestId id) override { sequences_.erase(id); }
  std::uint32_t context_tokens_max() const override { return facts_.context_tokens_max; }
  PolicyVersion policy_version() const override { return {}; }

  // Live sequences stand still from quiesce to resume. There is nothing to train or to save.
  void quiesce(std::function<void()> drained) override;
  void resume() override;
  void train(std::vector<GroupId> groups, std::function<void()> trained) override;
  void publish(std::function<void(UpdateReport)> published) override;
  void save(std::function<void(Result<std::string>)> saved) override;

  void set_num_updates(std::uint64_t) override {}
  void set_checkpoint_extra(std::string) override {}
  bool has_live_sequences() const override { return !sequences_.empty(); }
  std::uint64_t num_steps() const override { return num_steps_; }
  std::uint64_t num_sampled_tokens() const override { return num_sampled_; }
  double train_progress() const override { return 0; }

 private:
  struct Sequence {
    OnDelta on_delta;
    std::vector<TokenId> tokens;         // what is still to come; of an error: none
    std::size_t next = 0;
    bool is_cut = false;                 // by its max_tokens
    bool has_reply = false;              // its prompt has been read
  };
  Result<std::vector<TokenId>> read(const std::vector<TokenId>& prompt_ids) const;
  Result<std::vector<TokenId>> obeying(const text::Grammar& grammar, std::vector<TokenId> reply) const;
  void begin(RequestId id, std::uint32_t max_tokens, Result<std::vector<TokenId>> reply);
  void step();                           // of all sequences
  void step_later();
  // Takes the sequence off when it ends.
  void advance(RequestId id, std::size_t num_tokens);

  const DeviceOptions options_;
  metrics::Counter& sampled_;
  DeviceFacts facts_;
  Script script_;
  std::map<RequestId, Sequence> sequences_;   // in the order of their coming
  boost::asio::steady_timer timer_;
  TimePoint step_due_;
  bool is_stepping_ = false;             // a step is due
  bool is_suspended_ = false;
  std::uint64_t num_steps_ = 0, num_sampled_ = 0;
  boost::asio::thread_pool reader_{1};   // last: its work ends before the rest goes
};
}  // namespace corisco::app
