// The gateway's CallSink: a call goes to the store, and is durable before its last byte is sent.
#pragma once
#include "corisco/gateway/ports.h"
#include "corisco/metrics/registry.h"
#include "corisco/samples/journal.h"
#include "corisco/samples/store.h"

namespace corisco::app {
class JournalSink final : public gateway::CallSink {
 public:
  // journal may be null: then a call is recorded as soon as the store has it.
  JournalSink(samples::Store& store, samples::Journal* journal, metrics::Registry& metrics)
      : store_(store), journal_(journal), metrics_(metrics) {}
  boost::asio::awaitable<Result<void>> record(Call call) override;
  boost::asio::awaitable<Result<void>> settle() override;
  void mark_delivered(CallId id, AttemptKey attempt, bool is_delivered) override;
  void mark_state(CallId id, AttemptKey attempt, CallState state) override;

 private:
  samples::Store& store_;
  samples::Journal* journal_;
  metrics::Registry& metrics_;
};
}  // namespace corisco::app
