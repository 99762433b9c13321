#include "gateway/utf8_check.h"

namespace corisco::gateway {
namespace {
// What may follow a character's first byte.
struct Form {
  std::size_t size = 0;                  // of the whole character; 0: no character begins so
  unsigned char second_min = 0x80, second_max = 0xbf;
};

Form form_of(unsigned char lead) {
  if (lead < 0x80) return {1};
  if (lead < 0xc2) return {0};
  if (lead < 0xe0) return {2};
  if (lead == 0xe0) return {3, 0xa0};
  if (lead == 0xed) return {3, 0x80, 0x9f};
  if (lead < 0xf0) return {3};
  if (lead == 0xf0) return {4, 0x90};
  if (lead < 0xf4) return {4};
  if (lead == 0xf4) return {4, 0x80, 0x8f};
  return {0};
}

bool is_character(std::string_view bytes, const Form& form) {
  if (form.size == 0 || bytes.size() < form.size) return false;
  for (std::size_t i = 1; i < form.size; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const bool is_second = i == 1;
    if (byte < (is_second ? form.second_min : 0x80) || byte > (is_second ? form.second_max : 0xbf)) return false;
  }
  return true;
}
}  // namespace

std::optional<std::size_t> invalid_utf8_at(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto form = form_of(static_cast<unsigned char>(text[at]));
    if (!is_character(text.substr(at), form)) return at;
    at += form.size;
  }
  return std::nullopt;
}
}  // namespace corisco::gateway
