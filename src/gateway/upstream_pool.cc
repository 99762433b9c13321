#include "gateway/upstream_pool.h"

#include <algorithm>
#include <utility>

#include "corisco/base/strings.h"

namespace corisco::gateway {
namespace {
// Paths share a connection.
std::string server_of(const HttpUrl& url) { return cat(url.is_tls ? "https://" : "http://", url.authority()); }
}  // namespace

UpstreamPool::UpstreamPool(boost::asio::any_io_executor executor, bool needs_tls)
    : executor_(std::move(executor)), streams_(needs_tls), timer_(executor_) {}

// The newest, which its server closes last.
std::unique_ptr<UpstreamStream> UpstreamPool::take(const HttpUrl& url) {
  auto& waiting = waiting_[server_of(url)];
  while (!waiting.empty()) {
    auto newest = std::move(waiting.back());
    waiting.pop_back();
    if (newest.until > real_clock().now() && newest.stream->is_quiet()) return std::move(newest.stream);
  }
  return nullptr;
}

std::unique_ptr<UpstreamStream> UpstreamPool::make(const HttpUrl& url) const { return streams_.make(url, executor_); }

void UpstreamPool::keep(const HttpUrl& url, std::unique_ptr<UpstreamStream> stream) {
  if (is_stopped_) return;
  auto& waiting = waiting_[server_of(url)];
  if (waiting.size() == kWaitingMax) waiting.pop_front();
  waiting.push_back({std::move(stream), real_clock().now() + kWaitMax});
  if (!is_timed_) wake_at_next();
}

void UpstreamPool::stop() {
  is_stopped_ = true;
  waiting_.clear();
  timer_.cancel();
}

void UpstreamPool::close_late() {
  const auto now = real_clock().now();
  for (auto& [server, waiting] : waiting_)
    while (!waiting.empty() && waiting.front().until <= now) waiting.pop_front();
}

void UpstreamPool::wake_at_next() {
  auto next = TimePoint::max();
  for (const auto& [server, waiting] : waiting_)
    if (!waiting.empty()) next = std::min(next, waiting.front().until);
  is_timed_ = next != TimePoint::max();
  if (!is_timed_) return;
  timer_.expires_at(next);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
    const auto pool = weak.lock();
    if (cancelled || !pool) return;
    pool->close_late();
    pool->wake_at_next();
  });
}
}  // namespace corisco::gateway
