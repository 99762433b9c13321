#include "corisco/base/secret.h"

#include <sys/random.h>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco {
std::string new_secret(std::size_t num_bytes) {
  std::string bytes(num_bytes, '\0');
  const auto num_read = getrandom(bytes.data(), bytes.size(), 0);
  CORISCO_ASSERT(num_read == static_cast<ssize_t>(bytes.size()), cat("getrandom gave ", num_read));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}
}  // namespace corisco
