// Python's literals, by recursive descent (docs.python.org/3/reference/lexical_analysis.html, 2.4).
#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "gateway/tool_calls/argument_values.h"
#include "gateway/tool_calls/input.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr int kDepthMax = 64;

void append_utf8(std::uint32_t code, std::string& out) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// Each function consumes what it is named after and appends its JSON; false: it is not there.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  std::optional<std::string> read() {
    if (!value(0)) return std::nullopt;
    skip_blanks();
    if (!text_.empty()) return std::nullopt;
    return std::move(json_);
  }

 private:
  bool value(int depth) {
    skip_blanks();
    if (text_.empty() || depth == kDepthMax) return false;
    const char c = text_.front();
    if (c == '[') return list(']', depth);
    if (c == '(') return list(')', depth);
    if (c == '{') return dict(depth);
    return c == '"' || c == '\'' ? strings() : constant();
  }
  bool list(char end, int depth) {
    take(text_.front());
    json_ += '[';
    for (bool is_first = true; !take(end); is_first = false) {
      if (!is_first && !take(',')) return false;
      if (!is_first && take(end)) break;
      if (!is_first) json_ += ", ";
      if (!value(depth + 1)) return false;
    }
    json_ += ']';
    return true;
  }
  bool dict(int depth) {
    take('{');
    json_ += '{';
    for (bool is_first = true; !take('}'); is_first = false) {
      if (!is_first && !take(',')) return false;
      if (!is_first && take('}')) break;
      if (!is_first) json_ += ", ";
      if (!key() || !take(':')) return false;
      json_ += ": ";
      if (!value(depth + 1)) return false;
    }
    json_ += '}';
    return true;
  }
  // A constant that is no string becomes one, as json.dumps does.
  bool key() {
    skip_blanks();
    const bool is_string = !text_.empty() && (text_.front() == '"' || text_.front() == '\'');
    if (is_string) return strings();
    json_ += '"';
    if (!constant()) return false;
    json_ += '"';
    return true;
  }
  bool constant() {
    const auto length = std::min(text_.find_first_of(",:)]} \t\r\n"), text_.size());
    const auto word = text_.substr(0, length);
    text_.remove_prefix(length);
    if (word == "True" || word == "true") return add("true");
    if (word == "False" || word == "false") return add("false");
    if (word == "None" || word == "null") return add("null");
    return nlohmann::json::accept(word) && add(word);
  }
  bool add(std::string_view json) {
    json_ += json;
    return true;
  }
  // Neighbours are one string.
  bool strings() {
    std::string plain;
    while (!text_.empty() && (text_.front() == '"' || text_.front() == '\'')) {
      if (!string(plain)) return false;
      skip_blanks();
    }
    return add(json_string(plain));
  }
  bool string(std::string& plain) {
    const char quote = text_.front();
    text_.remove_prefix(1);
    while (!text_.empty() && text_.front() != quote) {
      const char c = text_.front();
      text_.remove_prefix(1);
      if (c != '\\') plain += c;
      if (c == '\\' && !escape(plain)) return false;
    }
    if (text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool escape(std::string& plain) {
    constexpr std::string_view kLetters = "abfnrtv\\'\"";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
    if (text_.empty()) return false;
    const char c = text_.front();
    text_.remove_prefix(1);
    if (c == '\n') return true;
    if (c == 'x') return code(2, plain);
    if (c == 'u') return code(4, plain);
    if (c == 'U') return code(8, plain);
    const auto letter = kLetters.find(c);
    if (letter == std::string_view::npos) plain += '\\';
    plain += letter == std::string_view::npos ? c : kMeanings[letter];
    return true;
  }
  bool code(std::size_t digits, std::string& plain) {
    std::uint32_t code = 0;
    const auto hex = text_.substr(0, digits);
    const auto read = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    if (hex.size() < digits || read.ptr != hex.data() + hex.size()) return false;
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    text_.remove_prefix(digits);
    append_utf8(code, plain);
    return true;
  }
  bool take(char c) {
    skip_blanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void skip_blanks() { text_.remove_prefix(count_blanks(text_)); }

  std::string_view text_;                // what is not consumed
  std::string json_;
};
}  // namespace

std::optional<std::string> python_as_json(std::string_view literal) { return Literal(literal).read(); }
}  // namespace corisco::gateway::tool_calls
