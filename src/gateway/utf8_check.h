// Whether bytes are UTF-8 (RFC 3629, section 4). Pure.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace corisco::gateway {
// Where the first piece begins that is no character: a stray byte, a character cut short, an overlong
// form, a surrogate, one above U+10FFFF.
std::optional<std::size_t> invalid_utf8_at(std::string_view text);
}  // namespace corisco::gateway
