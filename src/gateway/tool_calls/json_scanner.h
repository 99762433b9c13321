// Strict JSON grammar (RFC 8259), byte by byte: tells where an object ends and that it is valid,
// without building it. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace corisco::gateway::tool_calls {
//   {"a": "}"}x    more for 9 bytes, done at the tenth
class JsonScanner {
 public:
  enum class Step : std::uint8_t { more, done, broken };
  // The first byte that is no blank must open the object.
  Step push(char c);

  std::size_t depth() const { return open_.size(); }            // objects and arrays that are open
  bool is_in_key() const { return is_in_string() && is_key_; }  // after its quote, to its last byte
  bool expects_value() const { return lexeme_ == Lexeme::none && expect_ == Expect::value; }
  bool is_in_scalar() const { return lexeme_ != Lexeme::none; }

 private:
  enum class Expect : std::uint8_t { value, value_or_end, key, key_or_end, colon, comma_or_end };
  enum class Lexeme : std::uint8_t { none, string, escape, hex, number, literal };
  enum class Number : std::uint8_t { none, minus, zero, digits, point, fraction, mark, sign, exponent };

  static Number after(Number number, char c);
  bool is_in_string() const {
    return lexeme_ == Lexeme::string || lexeme_ == Lexeme::escape || lexeme_ == Lexeme::hex;
  }
  Step push_inside(char c);
  Step push_string(char c);
  Step push_escape(char c);
  Step push_structure(char c);
  Step start_value(char c);
  Step open(char c);
  Step close(char c);
  Step start_literal(std::string_view rest);

  std::string open_;                     // '{' or '[' of each open object and array
  Expect expect_ = Expect::value;
  Lexeme lexeme_ = Lexeme::none;
  bool is_key_ = false;                  // the open string
  Number number_ = Number::none;
  std::string_view literal_;             // what must still come of true, false, null
  int hex_digits_ = 0;                   // that must still come
};
}  // namespace corisco::gateway::tool_calls
