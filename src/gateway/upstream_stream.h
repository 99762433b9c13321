// The bytes between the daemon and another server, plain or inside TLS: its certificate must be one that the
// system trusts, for the name that the URL has. Knows no HTTP; deadlines are its owner's, who closes it.
// Io thread only. OpenSSL is in upstream_stream.cc and in tls.cc, nowhere else in the module.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <memory>
#include <string>

#include "corisco/base/url.h"

namespace corisco::gateway {
class UpstreamStream {
 public:
  virtual ~UpstreamStream() = default;
  // Finds the address, connects, shakes hands. Looking a name up cannot be cut short by close.
  virtual boost::asio::awaitable<boost::system::error_code> open(const HttpUrl& url) = 0;
  // One after the other; both outlive the call.
  virtual boost::asio::awaitable<boost::system::error_code> write(const std::string& head,
                                                                  const std::string& body) = 0;
  // At least one byte, unless it fails; asio::error::eof at the end.
  virtual boost::asio::awaitable<boost::system::error_code> read_some(boost::asio::mutable_buffer into,
                                                                      std::size_t& size) = 0;
  // Of an open one with nothing under way: its server has neither closed it nor sent anything.
  virtual bool is_quiet() = 0;
  // What is under way ends with an error.
  virtual void close() = 0;
};

class UpstreamStreams {
 public:
  // needs_tls: reads the system's trust store, which takes some milliseconds.
  explicit UpstreamStreams(bool needs_tls);
  ~UpstreamStreams();
  // May outlive this.
  std::unique_ptr<UpstreamStream> make(const HttpUrl& url, const boost::asio::any_io_executor& executor) const;

 private:
  struct Trust;
  std::shared_ptr<Trust> trust_;
};
}  // namespace corisco::gateway
