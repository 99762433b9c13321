#include "gateway/tool_calls/json_scanner.h"

#include "gateway/tool_calls/input.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr std::size_t kDepthMax = 64;    // as for requests, in which the arguments come back

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
}  // namespace

JsonScanner::Number JsonScanner::after(Number number, char c) {
  const bool is_mark = c == 'e' || c == 'E';
  switch (number) {
    case Number::none:
      if (c == '-') return Number::minus;
      [[fallthrough]];
    case Number::minus: return c == '0' ? Number::zero : is_digit(c) ? Number::digits : Number::none;
    case Number::digits:
      if (is_digit(c)) return Number::digits;
      [[fallthrough]];
    case Number::zero: return c == '.' ? Number::point : is_mark ? Number::mark : Number::none;
    case Number::fraction:
      if (is_mark) return Number::mark;
      [[fallthrough]];
    case Number::point: return is_digit(c) ? Number::fraction : Number::none;
    case Number::mark:
      if (c == '+' || c == '-') return Number::sign;
      [[fallthrough]];
    case Number::sign:
    case Number::exponent: return is_digit(c) ? Number::exponent : Number::none;
  }
  return Number::none;
}

JsonScanner::Step JsonScanner::push(char c) {
  if (lexeme_ == Lexeme::number) {
    const auto next = after(number_, c);
    const bool is_whole = number_ == Number::zero || number_ == Number::digits ||
                          number_ == Number::fraction || number_ == Number::exponent;
    if (next == Number::none && !is_whole) return Step::broken;
    number_ = next;
    if (next != Number::none) return Step::more;
    lexeme_ = Lexeme::none;
  }
  return lexeme_ == Lexeme::none ? push_structure(c) : push_inside(c);
}

JsonScanner::Step JsonScanner::push_inside(char c) {
  if (lexeme_ == Lexeme::string) return push_string(c);
  if (lexeme_ == Lexeme::escape) return push_escape(c);
  if (lexeme_ == Lexeme::hex) {
    if (!is_hex(c)) return Step::broken;
    if (--hex_digits_ == 0) lexeme_ = Lexeme::string;
    return Step::more;
  }
  if (c != literal_.front()) return Step::broken;
  literal_.remove_prefix(1);
  if (literal_.empty()) lexeme_ = Lexeme::none;
  return Step::more;
}

JsonScanner::Step JsonScanner::push_string(char c) {
  if (static_cast<unsigned char>(c) < 0x20) return Step::broken;
  if (c == '\\') lexeme_ = Lexeme::escape;
  if (c == '"') {
    lexeme_ = Lexeme::none;
    expect_ = is_key_ ? Expect::colon : Expect::comma_or_end;
  }
  return Step::more;
}

JsonScanner::Step JsonScanner::push_escape(char c) {
  hex_digits_ = c == 'u' ? 4 : 0;
  lexeme_ = c == 'u' ? Lexeme::hex : Lexeme::string;
  return std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos ? Step::broken : Step::more;
}

JsonScanner::Step JsonScanner::push_structure(char c) {
  if (is_blank(c)) return Step::more;
  if (open_.empty()) return c == '{' ? open(c) : Step::broken;
  const bool may_end = expect_ == Expect::comma_or_end || expect_ == Expect::value_or_end ||
                       expect_ == Expect::key_or_end;
  if (may_end && (c == '}' || c == ']')) return close(c);
  switch (expect_) {
    case Expect::value:
    case Expect::value_or_end: return start_value(c);
    case Expect::key:
    case Expect::key_or_end:
      is_key_ = true;
      lexeme_ = Lexeme::string;
      return c == '"' ? Step::more : Step::broken;
    case Expect::colon:
      expect_ = Expect::value;
      return c == ':' ? Step::more : Step::broken;
    case Expect::comma_or_end:
      expect_ = open_.back() == '{' ? Expect::key : Expect::value;
      return c == ',' ? Step::more : Step::broken;
  }
  return Step::broken;
}

JsonScanner::Step JsonScanner::start_value(char c) {
  if (c == '{' || c == '[') return open(c);
  expect_ = Expect::comma_or_end;
  if (c == '"') {
    is_key_ = false;
    lexeme_ = Lexeme::string;
    return Step::more;
  }
  if (c == 't') return start_literal("rue");
  if (c == 'f') return start_literal("alse");
  if (c == 'n') return start_literal("ull");
  number_ = after(Number::none, c);
  lexeme_ = Lexeme::number;
  return number_ == Number::none ? Step::broken : Step::more;
}

JsonScanner::Step JsonScanner::start_literal(std::string_view rest) {
  lexeme_ = Lexeme::literal;
  literal_ = rest;
  return Step::more;
}

JsonScanner::Step JsonScanner::open(char c) {
  if (open_.size() == kDepthMax) return Step::broken;
  open_ += c;
  expect_ = c == '{' ? Expect::key_or_end : Expect::value_or_end;
  return Step::more;
}

JsonScanner::Step JsonScanner::close(char c) {
  if (c != (open_.back() == '{' ? '}' : ']')) return Step::broken;
  open_.pop_back();
  expect_ = Expect::comma_or_end;
  return open_.empty() ? Step::done : Step::more;
}
}  // namespace corisco::gateway::tool_calls
