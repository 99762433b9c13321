#include "app/journal_sink.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace corisco::app {
namespace asio = boost::asio;
namespace {
// What a waiting request and the journal's thread share. The timer never expires: cancelling it is
// the signal, given on the io thread.
struct Written {
  explicit Written(const asio::any_io_executor& executor) : signal(executor, asio::steady_timer::time_point::max()) {}
  asio::steady_timer signal;
  bool is_done = false;
  Result<void> result;
};

// Called on the journal's thread.
std::function<void(Result<void>)> signal_of(const std::shared_ptr<Written>& written) {
  return [executor = written->signal.get_executor(), written](Result<void> result) {
    asio::post(executor, [written, result = std::move(result)] {
      written->result = result;
      written->is_done = true;
      written->signal.cancel();
    });
  };
}

// Cancelling the request does not end this wait: a call whose record is on its way stays recorded.
asio::awaitable<Result<void>> wait_for(std::shared_ptr<Written> written) {
  while (!written->is_done) co_await written->signal.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return written->result;
}
}  // namespace

asio::awaitable<Result<void>> JournalSink::record(Call call) {
  metrics_.counter("corisco_samples_calls_total").add();
  auto executor = co_await asio::this_coro::executor;
  auto written = std::make_shared<Written>(executor);
  store_.share_experts(call);
  if (journal_ != nullptr) journal_->append(samples::CallRecorded{call}, signal_of(written));
  if (call.attempt.rollout.value != 0) {
    auto kept = store_.append(std::move(call));
    if (!kept.ok()) co_return kept.error();
  }
  if (journal_ == nullptr) co_return Result<void>();
  auto result = co_await wait_for(written);
  co_return result;
}

asio::awaitable<Result<void>> JournalSink::settle() {
  if (journal_ == nullptr) co_return Result<void>();
  auto executor = co_await asio::this_coro::executor;
  auto written = std::make_shared<Written>(executor);
  journal_->when_kept(signal_of(written));
  auto result = co_await wait_for(written);
  co_return result;
}

void JournalSink::mark_delivered(CallId id, AttemptKey attempt, bool is_delivered) {
  if (attempt.rollout.value != 0) store_.mark_delivered(id, attempt, is_delivered);
}

void JournalSink::mark_state(CallId id, AttemptKey attempt, CallState state) {
  if (attempt.rollout.value != 0) store_.mark_state(id, attempt, state);
}
}  // namespace corisco::app
