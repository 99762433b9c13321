// The address of an HTTP server, as a config names it. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "corisco/base/result.h"

namespace corisco {
//   https://models.example:8443/api/v1/   is_tls, "models.example", 8443, "/api/v1"
//   http://[::1]:8000                     not is_tls, "::1", 8000, ""
struct HttpUrl {
  bool is_tls = false;
  std::string host;                    // without the brackets of an IPv6 address
  std::uint16_t port = 0;              // 80 or 443 where the text has none
  std::string path;                    // without a slash at its end

  std::string authority() const;       // as a Host header has it: without the scheme's own port
};
// http:// or https:// alone, without user, query and fragment; of these characters alone that need no escapes.
Result<HttpUrl> parse_http_url(std::string_view text);
}  // namespace corisco
