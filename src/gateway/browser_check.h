// What is asked of a browser's requests, since any web page can make one send requests here.
//
// Host: a page whose own name was pointed at this machine (DNS rebinding) may read every reply, and
// is known only by the name that its browser sends. So a browser must come by an IP address, which
// cannot be pointed anywhere, by localhost, by this machine's name, or by a name in gateway.hosts.
// Programs may use any name: harnesses in containers and on other machines do.
//
// Origin: a page of another server is refused on every route unless gateway.cors_origins lists it;
// then its browser is told that it may read the replies. Owned by the router; pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "corisco/config/config.h"
#include "gateway/api_error.h"
#include "gateway/http_head.h"
#include "gateway/reply_writer.h"

namespace corisco::gateway {
class BrowserCheck {
 public:
  // machine_name: of this host; empty: none.
  BrowserCheck(const config::Gateway& options, const std::string& machine_name);

  // Why the request is refused; nothing for any that no browser sent.
  std::optional<ApiError> refusal(const Head& head) const;
  // For every reply to the request; none unless its origin is listed.
  HeaderList reply_headers(const Head& head) const;
  // The answer to a browser that asks whether a listed origin may send a request; nothing for any
  // other request. methods: of the route.
  std::optional<Reply> preflight(const Head& head, const char* methods) const;

 private:
  bool is_host_allowed(std::string_view host) const;   // host: lower case, perhaps with a port
  bool is_origin_listed(const Head& head) const;

  std::vector<std::string> hosts_;       // lower case, perhaps with a port
  std::vector<std::string> origins_;     // lower case
};

// Whether a browser sent it for a page or its user. Pages cannot hide it: they cannot set or remove
// Origin, Referer and Sec-* headers, nor remove Accept-Language.
bool is_from_browser(const Head& head);
}  // namespace corisco::gateway
