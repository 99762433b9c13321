// What the fuzz targets share: demands on the code under test, and choices taken from the input.
// A target is one file with LLVMFuzzerTestOneInput; a demand that does not hold ends the process, and
// libFuzzer keeps the input. Seeds come from seeds.py.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/base/strings.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace corisco::fuzz {
template <class... Parts>
void require(bool holds, const Parts&... what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", cat(what...).c_str());
  std::abort();
}

// The input: choices from its front, and the rest as text.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  std::size_t below(std::size_t limit) { return byte() % limit; }
  bool flag() { return byte() % 2 == 1; }
  std::string_view rest(std::size_t bytes_max = std::string_view::npos) const { return rest_.substr(0, bytes_max); }

 private:
  std::string_view rest_;
};

inline std::string as_utf8(std::string_view bytes) {
  std::string text;
  text::append_all_characters(bytes, text);
  return text;
}
inline bool is_utf8(std::string_view bytes) { return as_utf8(bytes) == bytes; }

// The text cut into pieces, of 1 to 16 bytes by a sequence that the seed decides; seed 0: byte by byte.
inline std::vector<std::string_view> pieces_of(std::string_view text, std::uint32_t seed) {
  std::vector<std::string_view> pieces;
  for (auto state = seed; !text.empty(); text.remove_prefix(pieces.back().size())) {
    state = state * 1664525U + 1013904223U;
    pieces.push_back(text.substr(0, seed == 0 ? 1 : 1 + (state >> 28)));
  }
  return pieces;
}
}  // namespace corisco::fuzz
