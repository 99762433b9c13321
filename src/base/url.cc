#include "corisco/base/url.h"

#include <algorithm>
#include <charconv>

#include "corisco/base/strings.h"

namespace corisco {
namespace {
bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool has_only(std::string_view text, std::string_view marks) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter_or_digit(c) || marks.find(c) != std::string_view::npos; });
}

Error malformed(std::string_view text, const char* why) {
  return {Code::invalid_argument, cat("\"", text, "\" is no URL such as https://host:8000/v1: ", why)};
}

// Takes the host off the text, brackets included; empty if there is none.
std::string take_host(std::string_view& text) {
  const bool is_bracketed = starts_with(text, "[");
  const auto end = is_bracketed ? text.find(']') : text.find_first_of(":/");
  if (is_bracketed && end == std::string_view::npos) return {};
  const auto host = std::string(text.substr(is_bracketed ? 1 : 0, end - (is_bracketed ? 1 : 0)));
  text.remove_prefix(std::min(text.size(), is_bracketed ? end + 1 : end));
  return has_only(host, is_bracketed ? ":." : "-._") ? host : std::string();
}

// Takes ":8000" off the text. False: it is no port.
bool take_port(std::string_view& text, std::uint16_t& port) {
  if (!starts_with(text, ":")) return true;
  text.remove_prefix(1);
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return error == std::errc() && port > 0;
}
}  // namespace

Result<HttpUrl> parse_http_url(std::string_view text) {
  auto rest = text;
  HttpUrl url;
  url.is_tls = starts_with(rest, "https://");
  if (!url.is_tls && !starts_with(rest, "http://"))
    return malformed(text, "it begins with neither http:// nor https://");
  rest.remove_prefix(url.is_tls ? 8 : 7);
  if (rest.find('@') != std::string_view::npos) return malformed(text, "it holds a user; a key has a place of its own");
  if (rest.find_first_of("?#") != std::string_view::npos) return malformed(text, "it has a query or a fragment");
  url.host = take_host(rest);
  if (url.host.empty()) return malformed(text, "it has no valid host");
  url.port = url.is_tls ? 443 : 80;
  if (!take_port(rest, url.port)) return malformed(text, "its port is not from 1 to 65535");
  if (!rest.empty() && rest.front() != '/') return malformed(text, "something follows the host that is no path");
  if (!has_only(rest, "/-._~!$&'()*+,;=:%")) return malformed(text, "its path holds what a path cannot");
  while (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  url.path = std::string(rest);
  return url;
}

std::string HttpUrl::authority() const {
  const bool is_address = host.find(':') != std::string::npos;
  const auto shown = is_address ? cat("[", host, "]") : host;
  return port == (is_tls ? 443 : 80) ? shown : cat(shown, ":", port);
}
}  // namespace corisco
