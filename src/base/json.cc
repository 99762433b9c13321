#include "corisco/base/json.h"

#include <array>
#include <cstdint>
#include <utility>

namespace corisco {
namespace {
template <class Json>
Json parse(std::string_view text) {
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}
template <class Json>
std::string print_slowly(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// How a byte of a text is written: itself, a short escape, \u00XX, or, beyond ASCII, as the library finds it.
enum class Form : std::uint8_t { plain, escaped, control, other };

constexpr std::array<Form, 256> forms() {
  std::array<Form, 256> table{};
  for (std::size_t i = 0; i < 256; ++i) table[i] = i < 0x20 ? Form::control : i < 0x80 ? Form::plain : Form::other;
  for (const char c : {'"', '\\', '\b', '\t', '\n', '\f', '\r'}) table[static_cast<unsigned char>(c)] = Form::escaped;
  return table;
}
constexpr auto kForms = forms();

char letter_of(char escaped) {
  switch (escaped) {
    case '\b': return 'b';
    case '\t': return 't';
    case '\n': return 'n';
    case '\f': return 'f';
    case '\r': return 'r';
    default: return escaped;
  }
}

// Conversations are nearly all text: runs of plain bytes are copied whole, where the library goes through its
// decoder byte by byte. Texts beyond ASCII are its own.
template <class Json>
void print_text(const std::string& text, std::string& out) {
  const auto begin = out.size();
  out += '"';
  std::size_t from = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto form = kForms[static_cast<unsigned char>(text[at])];
    if (form == Form::plain) continue;
    if (form == Form::other) {
      out.resize(begin);
      out += print_slowly(Json(text), -1);
      return;
    }
    out.append(text, from, at - from);
    from = at + 1;
    out += '\\';
    if (form == Form::escaped) {
      out += letter_of(text[at]);
    } else {
      constexpr const char* kDigits = "0123456789abcdef";
      out += "u00";
      out += kDigits[text[at] >> 4];
      out += kDigits[text[at] & 15];
    }
  }
  out.append(text, from);
  out += '"';
}

template <class Json>
void print(const Json& value, std::string& out) {
  if (value.is_string()) return print_text<Json>(value.template get_ref<const std::string&>(), out);
  if (!value.is_structured()) {
    out += print_slowly(value, -1);
    return;
  }
  out += value.is_array() ? '[' : '{';
  bool is_first = true;
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (!std::exchange(is_first, false)) out += ',';
    if (value.is_object()) {
      print_text<Json>(item.key(), out);
      out += ':';
    }
    print(*item, out);
  }
  out += value.is_array() ? ']' : '}';
}

template <class Json>
std::string text_of(const Json& value, int indent) {
  if (indent >= 0) return print_slowly(value, indent);
  std::string out;
  print(value, out);
  return out;
}
}  // namespace

nlohmann::json parse_json(std::string_view text) { return parse<nlohmann::json>(text); }
nlohmann::ordered_json parse_ordered_json(std::string_view text) { return parse<nlohmann::ordered_json>(text); }
std::string json_text(const nlohmann::json& value, int indent) { return text_of(value, indent); }
std::string json_text(const nlohmann::ordered_json& value, int indent) { return text_of(value, indent); }
}  // namespace corisco
