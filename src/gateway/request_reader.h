// Reads one request after another off a connection: head, then body, each strictly checked, within
// their limits and deadlines. The only file of the module that uses Beast's parser (for bodies).
#pragma once
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "corisco/config/config.h"
#include "gateway/api_error.h"
#include "gateway/http_head.h"
#include "gateway/inbox.h"

namespace corisco::gateway {
// Nothing more comes, and nothing needs to be said: the peer left, or was idle too long.
struct EndOfRequests {};

class RequestReader {
 public:
  // idle_seconds_max: until a request begins.
  RequestReader(Inbox& inbox, const config::Gateway& options, std::uint32_t idle_seconds_max);

  using HeadOutcome = std::variant<Head, ApiError, EndOfRequests>;
  // After an error the connection's bytes have no meaning any more: answer and close.
  boost::asio::awaitable<HeadOutcome> read_head();

  using BodyOutcome = std::variant<std::string, ApiError, EndOfRequests>;
  // head: as read_head gave it last. send_continue: called if the client waits for a 100.
  boost::asio::awaitable<BodyOutcome> read_body(const Head& head, std::uint64_t bytes_max,
                                                std::function<boost::asio::awaitable<bool>()> send_continue);

 private:
  Inbox& inbox_;
  const config::Gateway& options_;
  std::uint32_t idle_seconds_max_;
  HeadLimits limits_;
  std::string head_text_;                // of the request in hand, for the body's parser
};
}  // namespace corisco::gateway
