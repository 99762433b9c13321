#include "gateway/listen_address.h"

#include <charconv>
#include <string_view>

#include "corisco/base/strings.h"

namespace corisco::gateway {
using boost::asio::ip::tcp;

Result<tcp::endpoint> parse_listen_address(const std::string& listen) {
  const Error malformed{Code::invalid_argument,
                        cat("gateway.listen: \"", listen, "\" is not address:port, such as 127.0.0.1:8080")};
  const auto colon = listen.rfind(':');
  if (colon == std::string::npos) return malformed;
  auto host = listen.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.empty()) host = "0.0.0.0";
  if (host == "localhost") host = "127.0.0.1";
  const auto digits = std::string_view(listen).substr(colon + 1);
  std::uint16_t port = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  if (error || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return malformed;
  return tcp::endpoint(address, port);
}

std::string url_of(const tcp::endpoint& endpoint, const char* scheme) {
  const auto address = endpoint.address();
  auto host = address.to_string();
  if (address.is_unspecified()) host = address.is_v4() ? "127.0.0.1" : "::1";
  if (address.is_v6()) host = cat("[", host, "]");
  return cat(scheme, "://", host, ":", endpoint.port());
}
}  // namespace corisco::gateway
