// JSON texts whose strings hold half a character. JavaScript counts in UTF-16, so that agents written in it cut
// command output in the midst of an emoji, and write what is left as "\ud83d", which is no character. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace corisco::gateway {
// With U+FFFD in the place of each escape of a lone surrogate; none if there is none. Linear.
std::optional<std::string> with_lone_surrogates_replaced(std::string_view json);
}  // namespace corisco::gateway
