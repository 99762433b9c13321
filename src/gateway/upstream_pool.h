// Connections to other servers that wait for their next request, which needs no handshake then. One comes here
// after a whole reply that leaves it open, never after one that was cut. Bounded for each server and in time: a
// server closes what waits too long, and a request that crosses its closing has to be sent again.
// Owned by the router; io thread.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "corisco/base/clock.h"
#include "gateway/upstream_stream.h"

namespace corisco::gateway {
class UpstreamPool : public std::enable_shared_from_this<UpstreamPool> {
 public:
  static constexpr std::size_t kWaitingMax = 32;       // for one server; the one that waits longest goes
  static constexpr Duration kWaitMax = std::chrono::seconds(20);

  // needs_tls: as UpstreamStreams has it.
  UpstreamPool(boost::asio::any_io_executor executor, bool needs_tls);
  // An open connection of which nothing was heard since its last reply. Null: none waits.
  std::unique_ptr<UpstreamStream> take(const HttpUrl& url);
  // A new one, to be opened.
  std::unique_ptr<UpstreamStream> make(const HttpUrl& url) const;
  void keep(const HttpUrl& url, std::unique_ptr<UpstreamStream> stream);
  // Closes all, and keeps none from here on.
  void stop();

 private:
  struct Waiting {
    std::unique_ptr<UpstreamStream> stream;
    TimePoint until;
  };
  void close_late();
  void wake_at_next();

  boost::asio::any_io_executor executor_;
  UpstreamStreams streams_;
  boost::asio::steady_timer timer_;
  bool is_timed_ = false;                              // timer_ waits
  bool is_stopped_ = false;
  std::map<std::string, std::deque<Waiting>> waiting_;   // by server; the longest first
};
}  // namespace corisco::gateway
