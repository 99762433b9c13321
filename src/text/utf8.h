// UTF-8 out of bytes that come in pieces and may be broken. Pure functions.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace corisco::text {
// Appends the characters of `bytes` that are certain, and U+FFFD for each piece that cannot become
// one (the longest start of a character, else one byte: Unicode 3.9 "maximal subparts", which is
// what Python's errors="replace" does). Returns how many bytes that took; the rest, at most three,
// is the start of a character.
std::size_t append_certain_characters(std::string_view bytes, std::string& out);

// The same for bytes that nothing follows: an unfinished character becomes U+FFFD too.
void append_all_characters(std::string_view bytes, std::string& out);
}  // namespace corisco::text
