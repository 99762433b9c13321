#include "gateway/http_head.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "corisco/base/strings.h"
#include "gateway/ascii.h"

namespace corisco::gateway {
namespace {
using MaybeError = std::optional<ApiError>;

ApiError refused(int status, std::string message, std::string code = "bad_http") {
  auto error = invalid_request(std::move(message), {}, std::move(code));
  error.status = status;
  return error;
}

constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return ascii::is_alphanumeric(c) || kMarks.find(c) != std::string_view::npos;
  });
}

bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

bool is_target(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte < 0x7f;
  });
}

constexpr std::string_view kHostMarks = "-._~%!$&'()*+,;=:[]";

// A name or address with an optional port, or nothing (RFC 9110 section 7.2).
bool is_host(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return ascii::is_alphanumeric(c) || kHostMarks.find(c) != std::string_view::npos;
  });
}

// "http://host/path", as proxies send it, is "/path" at host.
struct Target {
  std::string path;                      // with its query
  std::optional<std::string_view> authority{};
};
Target target_of(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (ascii::lower(target.substr(0, scheme.size())) != scheme) continue;
    const auto rest = target.substr(scheme.size());
    const auto end = std::min(rest.find_first_of("/?"), rest.size());
    const auto path = rest.substr(end);
    return {cat(starts_with(path, "/") ? "" : "/", path), rest.substr(0, end)};
  }
  return {std::string(target)};
}

MaybeError parse_version(std::string_view version, Head& head) {
  const bool has_shape = version.size() == 8 && version.substr(0, 5) == "HTTP/" &&
                         ascii::is_digit(version[5]) && version[6] == '.' && ascii::is_digit(version[7]);
  if (!has_shape) return refused(400, "malformed HTTP version");
  if (version[5] != '1' || version[7] > '1')
    return refused(505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
  head.is_version_1_1 = version[7] == '1';
  head.keeps_alive = head.is_version_1_1;
  return std::nullopt;
}

// authority: that the target names, if it does.
MaybeError parse_request_line(std::string_view line, const HeadLimits& limits, Head& head,
                              std::optional<std::string>& authority) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) return refused(400, "malformed request line");
  const auto method = line.substr(0, first);
  const auto target = line.substr(first + 1, last - first - 1);
  if (!is_token(method)) return refused(400, "malformed method");
  if (target.size() > limits.target_bytes_max) return refused(414, "the request target is too long");
  if (!is_target(target)) return refused(400, "malformed request target");
  head.method = method;
  auto parsed = target_of(target);
  if (parsed.authority && (parsed.authority->empty() || !is_host(*parsed.authority)))
    return refused(400, "malformed host in the request target");
  authority = parsed.authority;
  head.target = std::move(parsed.path);
  if (head.target.front() != '/' && !(head.target == "*" && method == "OPTIONS"))
    return refused(400, "the request target must be a path");
  return parse_version(line.substr(last + 1), head);
}

MaybeError parse_field(std::string_view line, Head& head) {
  if (line.front() == ' ' || line.front() == '\t')
    return refused(400, "folded header lines are not accepted");
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return refused(400, "header line without a colon");
  const auto name = line.substr(0, colon);
  const auto value = line.substr(colon + 1);
  if (!is_token(name)) return refused(400, "malformed header name");
  if (!is_field_value(value)) return refused(400, "control character in a header");
  head.fields.push_back({ascii::lower(name), std::string(ascii::trim_blanks(value))});
  return std::nullopt;
}

// The values of all lines of that name; the empty list if there is none.
std::vector<std::string_view> all_values(const Head& head, std::string_view name) {
  std::vector<std::string_view> values;
  for (const auto& field : head.fields)
    if (field.name == name) values.push_back(field.value);
  return values;
}

// A target's own authority counts in the header's place (RFC 9112 section 3.2.2).
MaybeError check_host(Head& head, const std::optional<std::string>& authority) {
  const auto hosts = all_values(head, "host");
  if (hosts.size() > 1) return refused(400, "more than one Host header");
  if (hosts.empty() && head.is_version_1_1) return refused(400, "the Host header is missing");
  if (!hosts.empty() && !is_host(hosts.front())) return refused(400, "malformed Host header");
  for (auto& field : head.fields)
    if (authority && field.name == "host") field.value = *authority;
  return std::nullopt;
}

MaybeError check_length(Head& head) {
  const auto lengths = all_values(head, "content-length");
  if (lengths.empty()) return std::nullopt;
  if (lengths.size() > 1) return refused(400, "more than one Content-Length header");
  const auto digits = lengths.front();
  std::uint64_t length = 0;
  const auto* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, length);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), ascii::is_digit) ||
      parsed.ec != std::errc() || parsed.ptr != end)
    return refused(400, "malformed Content-Length");
  head.content_length = length;
  return std::nullopt;
}

MaybeError check_transfer_encoding(Head& head) {
  const auto codings = all_values(head, "transfer-encoding");
  if (codings.empty()) return std::nullopt;
  if (head.content_length) return refused(400, "both Content-Length and Transfer-Encoding");
  if (codings.size() > 1) return refused(400, "more than one Transfer-Encoding header");
  if (!head.is_version_1_1) return refused(400, "Transfer-Encoding in HTTP/1.0");
  if (ascii::lower(codings.front()) != "chunked")
    return refused(400, "the only transfer coding understood here is chunked");
  head.is_chunked = true;
  return std::nullopt;
}

MaybeError check_expect(Head& head) {
  const auto expectations = all_values(head, "expect");
  if (expectations.empty()) return std::nullopt;
  if (expectations.size() > 1 || ascii::lower(expectations.front()) != "100-continue")
    return refused(417, "the only expectation understood here is 100-continue");
  head.expects_continue = head.is_version_1_1;
  return std::nullopt;
}

void read_connection(Head& head) {
  for (const auto value : all_values(head, "connection")) {
    for (const auto& option : split(value, ',')) {
      const auto word = ascii::lower(trim(option));
      if (word == "close") head.keeps_alive = false;
      if (word == "keep-alive" && !head.is_version_1_1) head.keeps_alive = true;
    }
  }
}

MaybeError check_framing(Head& head) {
  for (auto* check : {&check_length, &check_transfer_encoding, &check_expect})
    if (auto error = check(head)) return error;
  read_connection(head);
  return std::nullopt;
}

// A line feed without its carriage return can never become a valid head.
bool has_lone_line_feed(std::string_view bytes) {
  for (auto at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1))
    if (at == 0 || bytes[at - 1] != '\r') return true;
  return false;
}
}  // namespace

const std::string* Head::field(std::string_view lower_case_name) const {
  for (const auto& field : fields)
    if (field.name == lower_case_name) return &field.value;
  return nullptr;
}

HeadScan scan_head(std::string_view bytes, const HeadLimits& limits) {
  HeadScan scan;
  while (scan.leading < 4 && bytes.substr(scan.leading, 2) == "\r\n") scan.leading += 2;
  const auto rest = bytes.substr(scan.leading);
  const auto end = rest.find("\r\n\r\n");
  const auto head = rest.substr(0, end == std::string_view::npos ? end : end + 4);
  if (has_lone_line_feed(head)) {
    scan.error = refused(400, "lines must end with CR LF");
  } else if (!rest.empty() && rest.front() != '\r' && !is_token(rest.substr(0, 1))) {
    scan.error = refused(400, "malformed method");   // a TLS greeting, most likely
  } else if (head.size() > limits.head_bytes_max) {
    const bool has_request_line = head.substr(0, limits.head_bytes_max).find('\n') != std::string_view::npos;
    scan.error = has_request_line ? refused(431, "the request's head is too long", "head_too_long")
                                  : refused(414, "the request target is too long", "target_too_long");
  } else if (end != std::string_view::npos) {
    scan.size = head.size();
  }
  return scan;
}

OrApiError<Head> parse_head(std::string_view text, const HeadLimits& limits) {
  Head head;
  auto end = text.find("\r\n");
  std::optional<std::string> authority;
  if (auto error = parse_request_line(text.substr(0, end), limits, head, authority)) return std::move(*error);
  for (auto rest = text.substr(end + 2); rest.substr(0, 2) != "\r\n"; rest.remove_prefix(end + 2)) {
    if (head.fields.size() == limits.fields_max)
      return refused(431, "too many header lines", "too_many_headers");
    end = rest.find("\r\n");
    if (auto error = parse_field(rest.substr(0, end), head)) return std::move(*error);
  }
  if (auto error = check_framing(head)) return std::move(*error);
  if (auto error = check_host(head, authority)) return std::move(*error);
  return head;
}
}  // namespace corisco::gateway
