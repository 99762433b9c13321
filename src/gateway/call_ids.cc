#include "gateway/call_ids.h"

#include <sys/random.h>

#include "corisco/base/assert.h"
#include "corisco/base/files.h"
#include "corisco/base/strings.h"

namespace corisco::gateway {
CallIds::CallIds() : secret_(32, '\0') {
  const auto num_read = getrandom(secret_.data(), secret_.size(), 0);
  CORISCO_ASSERT(num_read == static_cast<ssize_t>(secret_.size()), cat("getrandom gave ", num_read));
}

std::string CallIds::seed(const std::string& request_id, std::size_t choice) const {
  return files::sha256(cat(secret_, request_id, "/", choice));
}

std::string issued_call_id(const std::string& seed, int index, bool is_short) {
  const auto digest = files::sha256(cat(seed, "/", index));
  if (!is_short) return cat("call_", digest.substr(0, 32));
  auto number = std::stoull(digest.substr(0, 16), nullptr, 16);
  std::string id;
  for (int i = 0; i < 9; ++i, number /= 36) id += "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
  return id;
}
}  // namespace corisco::gateway
