// Counter-based randomness: a number is a pure function of a key and a counter, so there is no
// state to save, and what one rollout draws does not depend on what else runs.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

namespace corisco {
// A 64-bit mix of the words in their order (splitmix64 finaliser, Steele et al. 2014, chained).
std::uint64_t hash_words(std::initializer_list<std::uint64_t> words);
std::uint64_t hash_ids(std::span<const std::int32_t> ids);
std::uint64_t hash_text(std::string_view text);

// Uniform in the open interval (0, 1), 53 bits, never 0 or 1.
double uniform(std::uint64_t key, std::uint64_t counter);

// Fisher-Yates with uniform(key, i): the same order for the same key, on every machine.
template <class T>
void shuffle(std::span<T> items, std::uint64_t key) {
  for (std::size_t i = items.size(); i > 1; --i) {
    const auto j = static_cast<std::size_t>(uniform(key, i) * static_cast<double>(i));
    std::swap(items[i - 1], items[j]);
  }
}
}  // namespace corisco
