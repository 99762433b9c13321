// The head of an HTTP/1.x request: found in the byte stream, checked strictly, parsed.
// Stricter than the body parser behind it, so that no two readers of one byte stream can disagree
// where a request ends (RFC 9112, and what smuggling attacks exploit). Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/api_error.h"

namespace corisco::gateway {
struct Head {
  struct Field {
    std::string name;              // lower case
    std::string value;             // without blanks at both ends
  };
  std::string method;
  std::string target;              // path and query, without scheme and authority
  bool is_version_1_1 = true;
  std::vector<Field> fields;       // Host as the target names it, where it does
  std::optional<std::uint64_t> content_length;
  bool is_chunked = false;
  bool expects_continue = false;
  bool keeps_alive = true;         // the connection, after this request

  const std::string* field(std::string_view lower_case_name) const;
  bool has_body() const { return is_chunked || content_length.value_or(0) > 0; }
};

struct HeadLimits {
  std::size_t head_bytes_max = 16384;
  std::size_t target_bytes_max = 8192;
  std::size_t fields_max = 128;
};

// Looks for the end of a head at the start of bytes.
//   leading    blank lines before the request (RFC 9112 section 2.2), at most 2
//   size       of the head with its last CRLF CRLF, after leading; 0: not whole yet
//   error      it can never become a valid head, or is too long
struct HeadScan {
  std::size_t leading = 0;
  std::size_t size = 0;
  std::optional<ApiError> error;
};
HeadScan scan_head(std::string_view bytes, const HeadLimits& limits);

// head: as scan_head found it, with its last CRLF CRLF.
OrApiError<Head> parse_head(std::string_view head, const HeadLimits& limits);
}  // namespace corisco::gateway
