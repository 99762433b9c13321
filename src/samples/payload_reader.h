// The bytes of a payload -> fields of a record. Never reads past the end, and never makes room for more
// items than bytes are left. After the first trouble every further field is left as it is.
#pragma once
#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "corisco/base/strings.h"
#include "samples/payload_writer.h"

namespace corisco::samples {
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view bytes) : bytes_(bytes) {}

  template <std::integral Whole>
  void operator()(Whole& value) {
    if (!trouble_.empty()) return;
    const auto number = take_varint(bytes_);
    if (!number || *number > std::numeric_limits<std::make_unsigned_t<Whole>>::max()) {
      trouble_ = cat("no whole number ", bytes_.size(), " bytes before its end");
      return;
    }
    value = static_cast<Whole>(*number);
  }
  void operator()(bool& value) {
    const std::uint8_t byte = take_byte();
    if (byte > 1) fail(cat("a flag of ", int{byte}));
    value = byte == 1;
  }
  void operator()(float& value) {
    if (has(4)) value = std::bit_cast<float>(get_little_endian<std::uint32_t>(take(4)));
  }
  void operator()(double& value) {
    if (has(8)) value = std::bit_cast<double>(get_little_endian<std::uint64_t>(take(8)));
  }
  template <class Tag>
  void operator()(Id<Tag>& id) {
    (*this)(id.value);
  }
  void operator()(std::string& text) {
    const auto size = count();
    if (trouble_.empty()) text = take(size);
  }
  template <class T>
  void operator()(std::vector<T>& items) {
    for (std::size_t left = count(); left > 0 && trouble_.empty(); --left) (*this)(items.emplace_back());
  }
  void operator()(std::optional<double>& value) {
    bool is_there = false;
    (*this)(is_there);
    if (is_there) (*this)(value.emplace());
  }
  // What follows the first ones; whoever has those puts them in front.
  template <class T>
  void rest(SharedPrefix<T>& sequence, std::size_t /*first*/) {
    typename SharedPrefix<T>::Items items;
    (*this)(items);
    sequence = std::move(items);
  }
  // Whoever has the first ones puts them in front.
  void appendix(SharedPrefix<std::uint16_t>& items, std::uint64_t& first) {
    if (!trouble_.empty() || bytes_.empty()) return;
    (*this)(first);
    rest(items, first);
    if (first == 0 && items.empty()) fail("an appendix of nothing");
  }
  void operator()(std::vector<SampledToken>& tokens) {
    const std::size_t size = count();
    if (trouble_.empty()) tokens.resize(size);
    for (auto& token : tokens) (*this)(token.id);
    for (auto& token : tokens) (*this)(token.sampled_logprob);
    bool is_drawn_alike = true;
    (*this)(is_drawn_alike);
    for (auto& token : tokens) {
      if (is_drawn_alike) token.drawn_logprob = token.sampled_logprob;
      else (*this)(token.drawn_logprob);
    }
    if (!is_drawn_alike && PayloadWriter::draws_alike(tokens)) fail("equal log-probabilities written twice");
    read_versions(tokens);
  }
  template <class Enum>
  void enumerator(Enum& value, Enum last) {
    const std::uint8_t byte = take_byte();
    if (byte > static_cast<std::uint8_t>(last)) fail(cat("an unknown enumerator ", int{byte}));
    else value = static_cast<Enum>(byte);
  }
  template <class Struct>
  requires requires(PayloadReader& a, Struct& s) { fields_of(a, s); }
  void operator()(Struct& value) { fields_of(*this, value); }
  // Empty, or what was wrong.
  std::string finish() {
    if (!bytes_.empty()) fail(cat(bytes_.size(), " bytes too many"));
    return trouble_;
  }

 private:
  void fail(const std::string& trouble) {
    if (trouble_.empty()) trouble_ = trouble;
  }
  bool has(std::size_t count) {
    if (count > bytes_.size()) fail(cat(count - bytes_.size(), " bytes too few"));
    return trouble_.empty();
  }
  std::string_view take(std::size_t count) {
    const auto taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::uint8_t take_byte() { return has(1) ? static_cast<std::uint8_t>(take(1)[0]) : std::uint8_t{0}; }
  // Of items, each of which takes at least a byte.
  std::size_t count() {
    std::uint64_t number = 0;
    (*this)(number);
    return has(number) ? number : 0;
  }
  void read_versions(std::vector<SampledToken>& tokens) {
    std::optional<PolicyVersion> before;
    for (std::size_t begin = 0; begin < tokens.size() && trouble_.empty();) {
      std::uint64_t length = 0;
      PolicyVersion version;
      (*this)(length);
      (*this)(version);
      if (length == 0 || length > tokens.size() - begin || before == version) return fail("bad runs of versions");
      for (std::size_t end = begin + length; begin < end; ++begin) tokens[begin].policy_version = version;
      before = version;
    }
  }
  std::string_view bytes_;
  std::string trouble_;
};
}  // namespace corisco::samples
