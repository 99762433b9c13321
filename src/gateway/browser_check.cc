#include "gateway/browser_check.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "corisco/base/strings.h"
#include "gateway/ascii.h"

namespace corisco::gateway {
namespace {
ApiError refused(int status, std::string message, std::string code) {
  auto error = invalid_request(std::move(message), {}, std::move(code));
  error.status = status;
  error.is_final = true;
  return error;
}

// "name:80" is "name", "[::1]:80" is "[::1]".
std::string_view without_port(std::string_view host) {
  const auto colon = host.rfind(':');
  const bool is_port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  return host.substr(0, is_port ? colon : host.size());
}

bool is_address(std::string_view name) {
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  boost::system::error_code error;
  boost::asio::ip::make_address(std::string(name), error);
  return !error;
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::string lower_field(const Head& head, std::string_view name) {
  const auto* value = head.field(name);
  return value == nullptr ? std::string() : ascii::lower(*value);
}

// "https://name:81" has the host "name:81"; both leave a scheme's usual port out.
bool is_same_host(std::string_view origin, std::string_view host) {
  const auto scheme = origin.find("://");
  return scheme != std::string_view::npos && !host.empty() && origin.substr(scheme + 3) == host;
}
}  // namespace

BrowserCheck::BrowserCheck(const config::Gateway& options, const std::string& machine_name) {
  for (const auto& host : options.hosts) hosts_.push_back(ascii::lower(host));
  if (!machine_name.empty()) hosts_.push_back(ascii::lower(machine_name));
  for (const auto& origin : options.cors_origins) origins_.push_back(ascii::lower(origin));
}

bool is_from_browser(const Head& head) {
  if (head.field("origin") != nullptr || head.field("sec-fetch-site") != nullptr) return true;
  // Node's fetch sends this one alone; a browser sends both or, to an untrusted name, neither.
  if (head.field("sec-fetch-mode") != nullptr) return false;
  return head.field("accept-language") != nullptr || head.field("referer") != nullptr ||
         starts_with(lower_field(head, "user-agent"), "mozilla/");
}

bool BrowserCheck::is_host_allowed(std::string_view host) const {
  auto name = without_port(host);
  if (!name.empty() && name.back() == '.') name.remove_suffix(1);
  return name == "localhost" || ends_with(name, ".localhost") || is_address(name) || contains(hosts_, name) ||
         contains(hosts_, host);
}

bool BrowserCheck::is_origin_listed(const Head& head) const {
  return contains(origins_, lower_field(head, "origin"));
}

std::optional<ApiError> BrowserCheck::refusal(const Head& head) const {
  if (!is_from_browser(head)) return std::nullopt;
  const auto host = lower_field(head, "host");
  if (!host.empty() && !is_host_allowed(host))
    return refused(421, "a browser may not reach this server by this host name; use its IP address, or list the "
                        "name in gateway.hosts", "host_not_allowed");
  if (head.field("origin") == nullptr || is_same_host(lower_field(head, "origin"), host) || is_origin_listed(head))
    return std::nullopt;
  return refused(403, "a web page of another server may not send requests here; to allow it, list its origin in "
                      "gateway.cors_origins", "origin_not_allowed");
}

HeaderList BrowserCheck::reply_headers(const Head& head) const {
  if (!is_origin_listed(head)) return {};
  return {{"Access-Control-Allow-Origin", *head.field("origin")},
          {"Access-Control-Expose-Headers", "x-request-id, request-id, retry-after, x-should-retry"},
          {"Vary", "Origin"}};
}

std::optional<Reply> BrowserCheck::preflight(const Head& head, const char* methods) const {
  if (head.method != "OPTIONS" || head.field("access-control-request-method") == nullptr || !is_origin_listed(head))
    return std::nullopt;
  Reply reply;
  reply.content_type = "";
  reply.headers = {{"Access-Control-Allow-Methods", methods}, {"Access-Control-Max-Age", "600"}};
  // Clients of model APIs send headers of their own making; what they mean is the route's affair.
  if (const auto* names = head.field("access-control-request-headers"))
    reply.headers.emplace_back("Access-Control-Allow-Headers", *names);
  return reply;
}
}  // namespace corisco::gateway
