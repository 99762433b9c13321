#include "gateway/reasoning_seal.h"

#include <openssl/evp.h>

#include <algorithm>

#include "corisco/base/strings.h"

namespace corisco::gateway {
namespace {
constexpr std::string_view kSeal = "corisco1.";
}  // namespace

std::string sealed_reasoning(const std::string& text) {
  std::string coded(text.size() / 3 * 4 + 5, '\0');
  const auto* from = reinterpret_cast<const unsigned char*>(text.data());
  auto* to = reinterpret_cast<unsigned char*>(coded.data());
  const auto size = EVP_EncodeBlock(to, from, static_cast<int>(text.size()));
  coded.resize(static_cast<std::size_t>(size));
  return cat(kSeal, coded);
}

std::string unsealed_reasoning(const std::string& sealed) {
  if (!starts_with(sealed, kSeal)) return {};
  const auto coded = std::string_view(sealed).substr(kSeal.size());
  std::string text(coded.size() / 4 * 3 + 3, '\0');
  const auto* from = reinterpret_cast<const unsigned char*>(coded.data());
  auto* to = reinterpret_cast<unsigned char*>(text.data());
  const auto size = EVP_DecodeBlock(to, from, static_cast<int>(coded.size()));
  if (size < 0) return {};
  const auto num_padding = ends_with(coded, "==") ? 2U : ends_with(coded, "=") ? 1U : 0U;   // decoded as zeros
  text.resize(static_cast<std::size_t>(size) - std::min<std::size_t>(num_padding, static_cast<std::size_t>(size)));
  return text;
}
}  // namespace corisco::gateway
