#include "text/utf8.h"

#include <algorithm>

namespace corisco::text {
namespace {
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Range {
  unsigned char low;
  unsigned char high;
  bool holds(unsigned char byte) const { return byte >= low && byte <= high; }
};

// Bytes of the character that starts with `lead`; 0 if none does.
std::size_t size_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

// What may follow `lead`: shorter forms exist for the rest, or they are surrogates, or too large
// (Unicode table 3-7).
Range second_byte_of(unsigned char lead) {
  switch (lead) {
    case 0xE0: return {0xA0, 0xBF};
    case 0xED: return {0x80, 0x9F};
    case 0xF0: return {0x90, 0xBF};
    case 0xF4: return {0x80, 0x8F};
    default: return {0x80, 0xBF};
  }
}

struct Piece {
  std::size_t size;  // bytes of the character, or of its longest valid start; at least 1
  bool is_character;
  bool is_open;      // the text ended inside the character
};

Piece first_piece(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const std::size_t wanted = size_of(at(0));
  if (wanted == 0) return {1, false, false};
  for (std::size_t i = 1; i < wanted; ++i) {
    if (i == bytes.size()) return {i, false, true};
    const Range range = i == 1 ? second_byte_of(at(0)) : Range{0x80, 0xBF};
    if (!range.holds(at(i))) return {i, false, false};
  }
  return {wanted, true, false};
}
}  // namespace

std::size_t append_certain_characters(std::string_view bytes, std::string& out) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const Piece piece = first_piece(bytes.substr(done));
    if (piece.is_open) break;
    out += piece.is_character ? bytes.substr(done, piece.size) : kReplacement;
    done += piece.size;
  }
  return done;
}

void append_all_characters(std::string_view bytes, std::string& out) {
  if (append_certain_characters(bytes, out) < bytes.size()) out += kReplacement;
}
}  // namespace corisco::text
