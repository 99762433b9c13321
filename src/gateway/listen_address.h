// "host:port" of the config, and back as a URL. Pure.
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "corisco/base/result.h"

namespace corisco::gateway {
// "127.0.0.1:8080", "[::1]:0", "localhost:8080", ":8080" (every IPv4 address). Other names are not
// looked up: which address they mean must not depend on a resolver.
Result<boost::asio::ip::tcp::endpoint> parse_listen_address(const std::string& listen);
// An address that means "every one" is shown as loopback, where a local client reaches it.
std::string url_of(const boost::asio::ip::tcp::endpoint& endpoint, const char* scheme = "http");
}  // namespace corisco::gateway
