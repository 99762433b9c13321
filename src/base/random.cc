#include "corisco/base/random.h"

#include <algorithm>

namespace corisco {
namespace {
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint64_t chain(std::uint64_t hash, std::uint64_t word) {
  return mix(hash + kGolden + mix(word + kGolden));
}
}  // namespace

std::uint64_t hash_words(std::initializer_list<std::uint64_t> words) {
  std::uint64_t hash = words.size();
  for (const auto word : words) hash = chain(hash, word);
  return hash;
}

std::uint64_t hash_ids(std::span<const std::int32_t> ids) {
  std::uint64_t hash = ids.size();
  for (const auto id : ids) hash = chain(hash, static_cast<std::uint32_t>(id));
  return hash;
}

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char c : text) hash = chain(hash, static_cast<unsigned char>(c));
  return hash;
}

double uniform(std::uint64_t key, std::uint64_t counter) {
  const std::uint64_t bits = chain(chain(0, key), counter) >> 11;  // 53 bits
  // The largest bits plus a half round up to 2^53.
  return std::min((static_cast<double>(bits) + 0.5) * 0x1.0p-53, 1 - 0x1.0p-53);
}
}  // namespace corisco
