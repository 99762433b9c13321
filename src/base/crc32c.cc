#include "corisco/base/crc32c.h"

#include <array>

namespace corisco {
namespace {
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t sum = i;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1U) != 0 ? 0x82f63b78U : 0U);
    table[i] = sum;
  }
  return table;
}
constexpr auto kTable = make_table();
}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  for (const char c : bytes) sum = kTable[(sum ^ static_cast<unsigned char>(c)) & 0xffU] ^ (sum >> 8);
  return ~sum;
}
}  // namespace corisco
