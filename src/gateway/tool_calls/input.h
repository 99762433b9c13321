// What has come of a reply and is not consumed yet, and the questions about its front that may need
// more of it. Positions stay valid until forget. Pure.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace corisco::gateway::tool_calls {
constexpr bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
// Blanks at the text's front.
std::size_t count_blanks(std::string_view text);
// The longest end of the text that is the start of the marker, and not all of it.
std::size_t partial_suffix(std::string_view text, std::string_view marker);
// A tool's name as families that don't quote it can write it.
bool is_name(std::string_view text);

enum class Match { no, yes, more };      // more: what has come ends within the literal

class Input {
 public:
  void add(std::string_view piece) { text_ += piece; }
  void end() { is_last_ = true; }
  bool is_last() const { return is_last_; }

  std::string_view rest() const { return std::string_view(text_).substr(at_); }
  void skip(std::size_t bytes) { at_ += bytes; }
  void skip_blanks() { at_ += count_blanks(rest()); }

  // Whether the rest from offset on starts with the literal; nothing is consumed.
  Match starts_with(std::string_view literal, std::size_t offset = 0) const;
  // The same for the front; yes consumes it.
  Match take(std::string_view literal);

  std::size_t position() const { return at_; }
  void go_to(std::size_t position) { at_ = position; }
  std::string_view between(std::size_t begin, std::size_t end) const {
    return std::string_view(text_).substr(begin, end - begin);
  }
  // Frees what is before the position, which becomes 0; returns by how much positions sink.
  std::size_t forget(std::size_t position);

 private:
  std::string text_;
  std::size_t at_ = 0;
  bool is_last_ = false;
};
}  // namespace corisco::gateway::tool_calls
