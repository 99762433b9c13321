// The head of a request that is passed on to another server. Pure.
#pragma once
#include <cstddef>
#include <string>

#include "corisco/base/url.h"
#include "gateway/http_head.h"
#include "gateway/routes.h"

namespace corisco::gateway {
// What a path that is passed on is called below a server's base URL ("/chat/completions"); null: it is not.
const char* upstream_path(RouteKind kind);

// head: as the client sent it. What concerns its connection alone, its keys, cookies and origin stay here, as
// do encodings that would have to be undone; everything else goes on. key: of the other server, in the header
// that the path's API has for it; empty: none.
std::string upstream_head(const Head& head, RouteKind kind, const HttpUrl& url, const std::string& key,
                          std::size_t body_bytes);
}  // namespace corisco::gateway
