#include "gateway/upstream_call.h"

#include <array>
#include <boost/asio/error.hpp>
#include <chrono>
#include <utility>

#include "corisco/base/log.h"
#include "gateway/attempt_limits.h"
#include "gateway/upstream_request.h"
#include "gateway/wire_format.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
// Models think for minutes before an unstreamed reply's first byte; a stream's next one comes soon.
constexpr unsigned kOpenSecondsMax = 15, kSendSecondsMax = 60, kHeadSecondsMax = 900, kNextSecondsMax = 300;
// Of the reply's head, what the client acts on.
constexpr std::array kPassedBack = {"Retry-After", "retry-after-ms", "x-should-retry"};
}  // namespace

struct UpstreamCall::Link : std::enable_shared_from_this<Link> {
  Link(std::unique_ptr<UpstreamStream> made, const asio::any_io_executor& executor)
      : stream(std::move(made)), timer(executor) {}

  void close_after(unsigned seconds) {
    timer.expires_after(std::chrono::seconds(seconds));
    timer.async_wait([self = weak_from_this()](boost::system::error_code cancelled) {
      const auto link = self.lock();
      // A cancelled wait, or one that was armed again when it had just expired.
      if (cancelled || !link || link->timer.expiry() > std::chrono::steady_clock::now()) return;
      link->is_timed_out = true;
      link->stream->close();
    });
  }

  std::unique_ptr<UpstreamStream> stream;
  asio::steady_timer timer;
  bool is_timed_out = false;
};

UpstreamCall::UpstreamCall(CallContext& context, UpstreamPool& pool, Request request, Caller caller,
                           ReplyWriter& reply)
    : context_(context), pool_(pool), request_(request), attempt_(std::move(caller.attempt)), reply_(reply),
      signal_(reply.peer().executor()), number_(context.next_request++) {
  const auto interrupt = [this] {
    signal_.notify();
    if (link_) link_->stream->close();
  };
  if (attempt_) attempt_->running.emplace(number_, interrupt);
  reply_.peer().on_gone(interrupt);
}

UpstreamCall::~UpstreamCall() {
  reply_.peer().on_gone(nullptr);
  if (link_) link_->timer.cancel();
  if (link_) link_->stream->close();
  if (attempt_) attempt_->running.erase(number_);
}

asio::awaitable<void> UpstreamCall::run() {
  auto failed = co_await keep_to_rate();
  if (!failed) failed = co_await pass_on();
  const auto result = failed ? failed->code : cat(received_.status());
  context_.metrics.passed_on(request_.model, result);
  if (!failed) co_return;
  context_.metrics.refused(failed->code);
  const auto& url = context_.parts.config->gateway.upstream_urls.at(request_.model);
  if (!why_.empty()) log::warn(cat("gateway.upstream_urls: ", url, ": ", why_));
  if (reply_.has_begun()) reply_.close_after();   // without the last chunk: the client sees that it is not whole
  else if (!reply_.peer().is_gone()) co_await reply_.whole(error_reply(*failed, error_shape_of(request_.kind)));
}

// Counting tokens is no call, here as elsewhere.
asio::awaitable<UpstreamCall::Failure> UpstreamCall::keep_to_rate() {
  if (!attempt_ || request_.kind == RouteKind::count_tokens) co_return std::nullopt;
  ++attempt_->summary.num_calls;
  const std::function<Failure()> is_over = [this] { return interrupted(); };
  const std::function<asio::awaitable<void>(TimePoint)> wait_for = [this](TimePoint moment) { return wait(moment); };
  co_return co_await gateway::keep_to_rate(*attempt_, context_.parts.config->gateway.calls_per_minute_max,
                                           context_.metrics, is_over, wait_for);
}

asio::awaitable<void> UpstreamCall::wait(TimePoint until) { co_await signal_.wait_until(until); }

asio::awaitable<UpstreamCall::Failure> UpstreamCall::pass_on() {
  const auto parsed = parse_http_url(context_.parts.config->gateway.upstream_urls.at(request_.model));
  if (!parsed.ok()) co_return failure("upstream_unreachable", parsed.error().message);
  const HttpUrl& url = parsed.value();
  auto stream = pool_.take(url);
  const bool has_waited = stream != nullptr;
  if (!has_waited) stream = pool_.make(url);
  auto failed = co_await ask(url, std::move(stream), has_waited);
  if (failed && has_waited && may_ask_again()) {
    why_.clear();
    stream = pool_.make(url);
    failed = co_await ask(url, std::move(stream), false);
  }
  if (!failed) failed = co_await receive_body();
  if (!failed && received_.keeps_alive()) {
    pool_.keep(url, std::move(link_->stream));
    link_.reset();
  }
  co_return failed;
}

// Not after a deadline: the server may be at work on it.
bool UpstreamCall::may_ask_again() const {
  return !received_.has_begun() && !link_->is_timed_out && !interrupted();
}

asio::awaitable<UpstreamCall::Failure> UpstreamCall::ask(HttpUrl url, Stream stream, bool is_open) {
  link_ = std::make_shared<Link>(std::move(stream), reply_.peer().executor());
  auto failed = co_await send(std::move(url), is_open);
  while (!failed && !received_.has_head()) failed = co_await receive_more(kHeadSecondsMax);
  co_return failed;
}

asio::awaitable<UpstreamCall::Failure> UpstreamCall::send(HttpUrl url, bool is_open) {
  if (auto gone = interrupted()) co_return gone;
  if (!is_open) {
    link_->close_after(kOpenSecondsMax);
    const auto unopened = co_await link_->stream->open(url);
    if (unopened) co_return failure("upstream_unreachable", unopened.message());
  }
  link_->close_after(kSendSecondsMax);
  const auto& key = context_.parts.config->gateway.upstream_key;
  const auto head = upstream_head(request_.head, request_.kind, url, key, request_.body.size());
  const auto unsent = co_await link_->stream->write(head, request_.body);
  if (unsent) co_return failure("upstream_unreachable", unsent.message());
  co_return std::nullopt;
}

// Reads on when the client has taken what there was, so that nothing piles up here.
asio::awaitable<UpstreamCall::Failure> UpstreamCall::receive_body() {
  Reply shown;
  shown.status = received_.status();
  shown.content_type = received_.header("Content-Type");
  for (const char* name : kPassedBack) {
    auto value = received_.header(name);
    if (!value.empty()) shown.headers.emplace_back(name, std::move(value));
  }
  constexpr int kNoContent = 204, kNotModified = 304;
  if (shown.status == kNoContent || shown.status == kNotModified) {
    co_await reply_.whole(std::move(shown));
    co_return std::nullopt;
  }
  bool is_open = co_await reply_.begin_as(std::move(shown));
  while (is_open && !received_.is_done()) {
    is_open = co_await reply_.piece(received_.take_body());
    if (!is_open) break;
    if (auto failed = co_await receive_more(kNextSecondsMax)) co_return failed;
  }
  if (is_open) is_open = co_await reply_.end(received_.take_body());
  if (is_open) co_return std::nullopt;
  co_return interrupted();
}

asio::awaitable<UpstreamCall::Failure> UpstreamCall::receive_more(unsigned seconds_max) {
  if (auto gone = interrupted()) co_return gone;
  std::array<char, 16384> bytes;
  std::size_t size = 0;
  link_->close_after(seconds_max);
  const auto unread = co_await link_->stream->read_some(asio::buffer(bytes), size);
  if (unread == asio::error::eof) {
    if (received_.finish()) co_return std::nullopt;
    co_return failure("upstream_broken", "it closed the connection before the reply's end");
  }
  if (unread) co_return failure("upstream_broken", unread.message());
  if (!received_.push({bytes.data(), size})) co_return failure("upstream_broken", "what it sent is no HTTP reply");
  co_return std::nullopt;
}

UpstreamCall::Failure UpstreamCall::interrupted() const {
  return interruption(reply_.peer().is_gone(), attempt_.get());
}

// what: the code. The log has the reason, which names the server; the client does not get it.
ApiError UpstreamCall::failure(const char* what, const std::string& why) {
  if (auto gone = interrupted()) return std::move(*gone);
  const bool is_late = link_ && link_->is_timed_out;
  why_ = is_late ? "no answer in time" : why;
  ApiError error;
  error.status = is_late ? 504 : 502;
  error.code = is_late ? "upstream_timeout" : what;
  error.message = is_late ? "the server of this model did not answer in time"
                          : "the server of this model cannot be reached, or broke off; the daemon's log says why";
  return error;
}
}  // namespace corisco::gateway
