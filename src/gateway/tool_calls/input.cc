#include "gateway/tool_calls/input.h"

#include <algorithm>

namespace corisco::gateway::tool_calls {
std::size_t count_blanks(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_blank) - text.begin());
}

std::size_t partial_suffix(std::string_view text, std::string_view marker) {
  auto length = marker.empty() ? 0 : std::min(text.size(), marker.size() - 1);
  while (length > 0 && text.substr(text.size() - length) != marker.substr(0, length)) --length;
  return length;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_of(" \n\t\r\"'`{}[]()<>,;=\\") == std::string_view::npos;
}

Match Input::starts_with(std::string_view literal, std::size_t offset) const {
  const auto there = rest().substr(std::min(offset, rest().size())).substr(0, literal.size());
  if (there != literal.substr(0, there.size())) return Match::no;
  return there.size() == literal.size() ? Match::yes : Match::more;
}

Match Input::take(std::string_view literal) {
  const auto match = starts_with(literal);
  if (match == Match::yes) skip(literal.size());
  return match;
}

std::size_t Input::forget(std::size_t position) {
  text_.erase(0, position);
  at_ -= position;
  return position;
}
}  // namespace corisco::gateway::tool_calls
