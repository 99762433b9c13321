// Whole numbers as bytes, least significant first, on every machine.
#pragma once
#include <concepts>
#include <string>
#include <string_view>

namespace corisco::samples {
template <std::unsigned_integral Whole>
void put_little_endian(std::string& out, Whole value) {
  for (std::size_t i = 0; i < sizeof(Whole); ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

// The first sizeof(Whole) bytes, which must be there.
template <std::unsigned_integral Whole>
Whole get_little_endian(std::string_view bytes) {
  Whole value = 0;
  for (std::size_t i = 0; i < sizeof(Whole); ++i) {
    const auto byte = static_cast<Whole>(static_cast<unsigned char>(bytes[i]));
    value = static_cast<Whole>(value | static_cast<Whole>(byte << (8 * i)));
  }
  return value;
}
}  // namespace corisco::samples
