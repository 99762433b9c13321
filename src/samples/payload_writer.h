// Fields of a record -> the bytes of its payload. Whole numbers as varints; floating-point numbers as
// their bits. What it writes, PayloadReader reads, field by field in the same order.
#pragma once
#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "corisco/types/call.h"
#include "samples/little_endian.h"
#include "samples/varint.h"

namespace corisco::samples {
class PayloadWriter {
 public:
  template <std::integral Whole>
  void operator()(Whole value) {
    put_varint(bytes_, static_cast<std::make_unsigned_t<Whole>>(value));
  }
  void operator()(bool value) { bytes_ += static_cast<char>(value); }
  void operator()(float value) { put_little_endian(bytes_, std::bit_cast<std::uint32_t>(value)); }
  void operator()(double value) { put_little_endian(bytes_, std::bit_cast<std::uint64_t>(value)); }
  template <class Tag>
  void operator()(Id<Tag> id) {
    (*this)(id.value);
  }
  void operator()(const std::string& text) { put_text(text); }
  template <class T>
  void operator()(std::vector<T>& items) {
    (*this)(items.size());
    for (T& item : items) (*this)(item);
  }
  void operator()(std::optional<double>& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }
  // The items behind the first ones.
  template <class T>
  void rest(const SharedPrefix<T>& sequence, std::size_t first) {
    const auto items = sequence.tail(first);
    (*this)(items.size());
    for (const auto item : items) (*this)(item);
  }
  void rest(const SharedPrefix<char>& sequence, std::size_t first) {
    put_text(sequence.tail(first));
  }
  // The last field of its record, which is not there if there are no items: how many of them were the first
  // ones of an earlier record's, and the others.
  void appendix(const SharedPrefix<std::uint16_t>& items, std::uint64_t first) {
    if (items.empty()) return;
    first = std::min<std::uint64_t>(first, items.size());
    (*this)(first);
    rest(items, first);
  }
  // By column: ids, log-probabilities, whether they are also those of the draw or else the latter, and
  // runs of equal versions.
  void operator()(std::vector<SampledToken>& tokens) {
    (*this)(tokens.size());
    for (auto& token : tokens) (*this)(token.id);
    for (auto& token : tokens) (*this)(token.sampled_logprob);
    const bool is_drawn_alike = draws_alike(tokens);
    (*this)(is_drawn_alike);
    if (!is_drawn_alike)
      for (auto& token : tokens) (*this)(token.drawn_logprob);
    for (std::size_t begin = 0; begin < tokens.size();) {
      std::size_t end = begin + 1;
      while (end < tokens.size() && tokens[end].policy_version == tokens[begin].policy_version) ++end;
      (*this)(end - begin);
      (*this)(tokens[begin].policy_version);
      begin = end;
    }
  }
  template <class Enum>
  void enumerator(Enum value, Enum /*last*/) {
    bytes_ += static_cast<char>(value);
  }
  template <class Struct>
  requires requires(PayloadWriter& a, Struct& s) { fields_of(a, s); }
  void operator()(Struct& value) { fields_of(*this, value); }
  std::string take() { return std::move(bytes_); }

  // Bit for bit: a NaN is itself, and 0 is not -0.
  static bool draws_alike(const std::vector<SampledToken>& tokens) {
    for (const auto& token : tokens)
      if (std::bit_cast<std::uint32_t>(token.drawn_logprob) != std::bit_cast<std::uint32_t>(token.sampled_logprob))
        return false;
    return true;
  }

 private:
  void put_text(std::string_view text) {
    (*this)(text.size());
    bytes_ += text;
  }
  std::string bytes_;
};
}  // namespace corisco::samples
