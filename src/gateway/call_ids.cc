#include "gateway/call_ids.h"

#include <utility>

#include "corisco/base/files.h"
#include "corisco/base/secret.h"
#include "corisco/base/strings.h"

namespace corisco::gateway {
namespace {
constexpr std::size_t kSecretBytes = 32;
}

CallIds::CallIds(std::string secret) : secret_(secret.empty() ? new_secret(kSecretBytes) : std::move(secret)) {}

std::string CallIds::seed(const std::string& name) const { return files::sha256(cat(secret_, name)); }

std::string issued_call_id(const std::string& seed, int index, bool is_short) {
  const auto digest = files::sha256(cat(seed, "/", index));
  if (!is_short) return cat("call_", digest.substr(0, 32));
  auto number = std::stoull(digest.substr(0, 16), nullptr, 16);
  std::string id;
  for (int i = 0; i < 9; ++i, number /= 36) id += "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
  return id;
}
}  // namespace corisco::gateway
