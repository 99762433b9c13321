#include "app/journal_sink.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace corisco::app {
namespace asio = boost::asio;
namespace {
// Completes on the caller's executor when the journal has written the record.
asio::awaitable<Result<void>> append(samples::Journal* journal, samples::Record record) {
  const auto executor = co_await asio::this_coro::executor;
  auto shared = std::make_shared<samples::Record>(std::move(record));
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(Result<void>)>(
      [journal, executor, shared](auto handler) {
        auto kept = std::make_shared<decltype(handler)>(std::move(handler));
        journal->append(std::move(*shared), [executor, kept](Result<void> written) {
          asio::post(executor, [kept, written = std::move(written)] { (*kept)(written); });
        });
      },
      asio::use_awaitable);
}
}  // namespace

asio::awaitable<Result<void>> JournalSink::record(Call call) {
  metrics_.counter("corisco_samples_calls_total").add();
  const bool is_scoped = call.attempt.rollout.value != 0;
  std::unique_ptr<samples::Record> record;
  if (journal_ != nullptr) record = std::make_unique<samples::Record>(samples::CallRecorded{call});
  if (is_scoped) {
    auto kept = store_.append(std::move(call));
    if (!kept.ok()) co_return kept.error();
  }
  if (!record) co_return Result<void>{};
  co_return co_await append(journal_, std::move(*record));
}

void JournalSink::mark_delivered(CallId id, AttemptKey attempt, bool is_delivered) {
  if (!is_delivered) metrics_.counter("corisco_gateway_undelivered_calls_total").add();
  if (attempt.rollout.value != 0) store_.mark_delivered(id, attempt, is_delivered);
}
}  // namespace corisco::app
