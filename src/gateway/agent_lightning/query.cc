#include "gateway/agent_lightning/query.h"

#include <algorithm>
#include <charconv>

#include "corisco/base/strings.h"
#include "gateway/routes.h"

namespace corisco::gateway::lightning {
namespace {
std::string decoded(std::string text) {
  std::replace(text.begin(), text.end(), '+', ' ');
  return percent_decode(text);
}
}  // namespace

Query query_of(std::string_view target) {
  Query query;
  const auto begin = target.find('?');
  if (begin == std::string_view::npos) return query;
  for (const auto& pair : split(target.substr(begin + 1), '&')) {
    const auto equals = std::min(pair.find('='), pair.size());
    if (pair.empty()) continue;
    query.emplace_back(decoded(pair.substr(0, equals)),
                       equals < pair.size() ? decoded(pair.substr(equals + 1)) : std::string());
  }
  return query;
}

std::vector<std::string> all_of(const Query& query, std::string_view name) {
  std::vector<std::string> values;
  for (const auto& [key, value] : query)
    if (key == name) values.push_back(value);
  return values;
}

std::optional<std::string> one_of(const Query& query, std::string_view name) {
  auto values = all_of(query, name);
  if (values.empty()) return std::nullopt;
  return std::move(values.back());
}

std::optional<std::uint64_t> number_of(const Query& query, std::string_view name, std::uint64_t otherwise) {
  const auto text = one_of(query, name);
  if (!text) return otherwise;
  std::uint64_t number = 0;
  const auto* end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, number);
  const bool is_number = !text->empty() && parsed.ec == std::errc() && parsed.ptr == end;
  if (!is_number || number > (std::uint64_t{1} << 53)) return std::nullopt;
  return number;
}
}  // namespace corisco::gateway::lightning
