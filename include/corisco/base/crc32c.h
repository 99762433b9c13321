// CRC-32C (Castagnoli polynomial 0x1edc6f41, reflected), the checksum of the journal and of
// TensorBoard's event files.
#pragma once
#include <cstdint>
#include <string_view>

namespace corisco {
// crc32c("123456789") is 0xe3069283. before: the sum of the bytes that came earlier.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);
}  // namespace corisco
