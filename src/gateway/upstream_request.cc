#include "gateway/upstream_request.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "corisco/base/strings.h"
#include "gateway/ascii.h"

namespace corisco::gateway {
namespace {
constexpr std::array<std::string_view, 26> kKept = {
    // of this connection (RFC 9110 section 7.6.1)
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect",
    "content-length", "host", "accept-encoding",
    // who the client is, and how it came here
    "authorization", "proxy-authorization", "x-api-key", "api-key", "cookie", "origin", "referer", "forwarded",
    "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip",
    // accounts of the vendor that the client's own key would belong to
    "openai-organization", "openai-project"};

// Fields that the client's Connection header says are of that connection.
std::vector<std::string> connection_fields(const Head& head) {
  std::vector<std::string> names;
  for (const auto& field : head.fields)
    if (field.name == "connection")
      for (const auto& one : split(field.value, ',')) names.push_back(ascii::lower(trim(one)));
  return names;
}

bool is_anthropics(RouteKind kind) { return kind == RouteKind::messages || kind == RouteKind::count_tokens; }

std::string_view query_of(std::string_view target) {
  const auto begin = target.find('?');
  return begin == std::string_view::npos ? std::string_view() : target.substr(begin);
}
}  // namespace

const char* upstream_path(RouteKind kind) {
  switch (kind) {
    case RouteKind::chat_completions: return "/chat/completions";
    case RouteKind::completions: return "/completions";
    case RouteKind::responses: return "/responses";
    case RouteKind::messages: return "/messages";
    case RouteKind::count_tokens: return "/messages/count_tokens";
    default: return nullptr;
  }
}

std::string upstream_head(const Head& head, RouteKind kind, const HttpUrl& url, const std::string& key,
                          std::size_t body_bytes) {
  auto text = cat("POST ", url.path, upstream_path(kind), query_of(head.target), " HTTP/1.1\r\nHost: ",
                  url.authority(), "\r\nAccept-Encoding: identity\r\nContent-Length: ", body_bytes, "\r\n");
  const auto hop = connection_fields(head);
  for (const auto& field : head.fields) {
    const bool stays = std::find(kKept.begin(), kKept.end(), field.name) != kKept.end() ||
                       std::find(hop.begin(), hop.end(), field.name) != hop.end();
    if (!stays) text += cat(field.name, ": ", field.value, "\r\n");
  }
  if (head.field("content-type") == nullptr) text += "Content-Type: application/json\r\n";
  if (is_anthropics(kind) && head.field("anthropic-version") == nullptr) text += "anthropic-version: 2023-06-01\r\n";
  if (!key.empty()) text += cat(is_anthropics(kind) ? "x-api-key: " : "Authorization: Bearer ", key, "\r\n");
  return text + "\r\n";
}
}  // namespace corisco::gateway
