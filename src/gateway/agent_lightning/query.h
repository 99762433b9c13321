// The query of a request's target: name=value pairs, percent-decoded. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace corisco::gateway::lightning {
using Query = std::vector<std::pair<std::string, std::string>>;
Query query_of(std::string_view target);
std::vector<std::string> all_of(const Query& query, std::string_view name);
// The last one; null if there is none.
std::optional<std::string> one_of(const Query& query, std::string_view name);
// otherwise if there is none; null if it is not a number from 0 to 2^53.
std::optional<std::uint64_t> number_of(const Query& query, std::string_view name, std::uint64_t otherwise);
}  // namespace corisco::gateway::lightning
