// A request's head: whatever the bytes, and wherever they are cut, one verdict; and what is accepted
// cannot be read in another way.
#include <optional>

#include "fuzz/fuzz.h"
#include "gateway/ascii.h"
#include "gateway/auth.h"
#include "gateway/http_head.h"
#include "gateway/routes.h"

namespace corisco::gateway {
namespace {
using fuzz::require;

// Small, so that short inputs reach them.
constexpr HeadLimits kLimits{.head_bytes_max = 512, .target_bytes_max = 128, .fields_max = 8};

struct Verdict {
  bool is_decided = false;
  std::optional<Head> head;              // none: refused
  std::string_view text;                 // of the head
};

Verdict verdict_of(std::string_view bytes) {
  const auto scan = scan_head(bytes, kLimits);
  if (scan.error) {
    require(scan.error->status >= 400 && scan.error->status < 500, "status ", scan.error->status);
    return {true, {}, {}};
  }
  if (scan.size == 0) return {};
  require(scan.leading + scan.size <= bytes.size(), "a head longer than what came");
  const auto text = bytes.substr(scan.leading, scan.size);
  auto parsed = parse_head(text, kLimits);
  if (auto* head = std::get_if<Head>(&parsed)) return {true, std::move(*head), text};
  const auto& error = std::get<ApiError>(parsed);
  require(error.status >= 400 && !error.message.empty(), "an error without status or message");
  return {true, {}, text};
}

std::size_t count_lines(std::string_view text, std::string_view name) {
  std::size_t count = 0;
  for (const auto& line : split(text, '\n'))
    count += ascii::lower(line.substr(0, line.find(':'))) == name ? 1 : 0;
  return count;
}

std::string printed(const Head& head) {
  auto text = cat(head.method, " ", head.target, " HTTP/1.", head.is_version_1_1 ? 1 : 0, "\r\n");
  for (const auto& field : head.fields) text += cat(field.name, ": ", field.value, "\r\n");
  return text + "\r\n";
}

void check_accepted(const Head& head, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    require(text[i] != '\0', "a NUL");
    require(text[i] != '\r' || text[i + 1] == '\n', "a bare CR");
    require(text[i] != '\n' || text[i - 1] == '\r', "a bare LF");
  }
  require(head.target == "*" || head.target.front() == '/', "target ", head.target);
  require(count_lines(text, "host") == 1 || (!head.is_version_1_1 && count_lines(text, "host") == 0), "Host");
  require(count_lines(text, "content-length") == (head.content_length ? 1U : 0U), "Content-Length");
  require(count_lines(text, "transfer-encoding") == (head.is_chunked ? 1U : 0U), "Transfer-Encoding");
  require(!head.is_chunked || !head.content_length, "two lengths");
  require(count_lines(text, "connection") > 0 || head.keeps_alive == head.is_version_1_1, "keeps_alive");
  require(head.fields.size() <= kLimits.fields_max && text.size() <= kLimits.head_bytes_max, "limits");
}

void check_printed(const Head& head) {
  const auto text = printed(head);
  if (text.size() > kLimits.head_bytes_max) return;   // blanks that were not there
  const auto again = verdict_of(text);
  require(again.head.has_value(), "refused when printed: ", text);
  require(printed(*again.head) == text, "changes when printed: ", text);
  require(again.head->content_length == head.content_length && again.head->is_chunked == head.is_chunked &&
              again.head->keeps_alive == head.keeps_alive && again.head->expects_continue == head.expects_continue,
          "is framed differently when printed: ", text);
}

void check_route(const Head& head) {
  const auto route = find_route(head.target);
  presented_key(head);
  require(!(is_admin_route(route.kind) && is_model_route(route.kind)), "an admin route that is a model route");
  if (!route.attempt) return;
  const auto name = cat(route.attempt->rollout.value, "/attempt/", route.attempt->attempt);
  require(head.target.find(name) != std::string::npos, "an attempt under another name than ", name);
}
}  // namespace
}  // namespace corisco::gateway

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corisco::gateway;
  const auto bytes = corisco::fuzz::Input(data, size).rest(1024);
  Verdict first;
  for (std::size_t end = 0; end <= bytes.size(); ++end) {
    const auto verdict = verdict_of(bytes.substr(0, end));
    if (!first.is_decided) first = verdict;
    const bool is_same = first.is_decided == verdict.is_decided && first.head.has_value() == verdict.head.has_value();
    corisco::fuzz::require(is_same && (!first.head || first.text == verdict.text), "another verdict with ", end, " bytes");
  }
  if (!first.head) return 0;
  check_accepted(*first.head, first.text);
  check_printed(*first.head);
  check_route(*first.head);
  return 0;
}
