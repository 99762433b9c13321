#include "gateway/inbox.h"

#include <boost/asio/buffer.hpp>
#include <utility>

namespace corisco::gateway {
namespace asio = boost::asio;

Inbox::Inbox(Transport& transport, std::size_t bytes_max)
    : transport_(transport), bytes_max_(bytes_max), changed_(transport.socket().get_executor()) {}

void Inbox::start(std::weak_ptr<void> owner) {
  owner_ = std::move(owner);
  read();
}

void Inbox::consume(std::size_t size) {
  begin_ += size;
  if (begin_ == bytes_.size() || begin_ >= bytes_max_) {
    bytes_.erase(0, begin_);
    begin_ = 0;
  }
  read();
}

void Inbox::read() {
  if (is_reading_ || is_gone_ || is_full()) return;   // consume() reads on
  is_reading_ = true;
  transport_.read_some(asio::buffer(chunk_),
                       [this, owner = owner_.lock()](boost::system::error_code error, std::size_t size) {
                         is_reading_ = false;
                         bytes_.append(chunk_.data(), size);
                         if (error) return went();
                         changed_.notify();
                         read();
                       });
}

void Inbox::went() {
  is_gone_ = true;
  changed_.notify();
  if (auto then = std::exchange(on_gone_, nullptr)) then();
}

asio::awaitable<Inbox::Wake> Inbox::wait_for_more(TimePoint deadline) {
  const auto before = bytes().size();
  while (bytes().size() == before) {
    if (is_gone_) co_return Wake::gone;
    const bool is_notified = co_await changed_.wait_until(deadline);
    if (!is_notified && bytes().size() == before && !is_gone_) co_return Wake::timeout;
  }
  co_return Wake::more;
}
}  // namespace corisco::gateway
