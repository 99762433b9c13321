// Whole numbers in as few bytes as they need: seven bits a byte, least significant first, the top bit
// set on all bytes but the last. One number has one form.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace corisco::samples {
//   0 -> 00    127 -> 7f    128 -> 80 01    300 -> ac 02
inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// Takes it off the front; none if it is cut off, longer than 64 bits, or padded.
inline std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const std::uint64_t bits = byte & 0x7fU;
    if (i == 9 && bits > 1) return std::nullopt;
    value |= bits << (7 * i);
    if ((byte & 0x80U) != 0) continue;
    if (byte == 0 && i > 0) return std::nullopt;
    bytes.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}
}  // namespace corisco::samples
