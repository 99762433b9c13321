#include "gateway/tool_calls/json_call.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "corisco/base/json.h"

namespace corisco::gateway::tool_calls {
namespace {
// The text of a JSON string in its quotes; none if its escapes are half a character.
std::optional<std::string> unquoted(std::string_view quoted) {
  const auto parsed = parse_json(quoted);
  if (!parsed.is_string()) return std::nullopt;
  return parsed.get<std::string>();
}

bool is_object(std::string_view text) {
  JsonScanner scanner;
  auto step = JsonScanner::Step::more;
  for (const char c : text) {
    if (step == JsonScanner::Step::done && is_blank(c)) continue;
    if (step != JsonScanner::Step::more) return false;
    step = scanner.push(c);
  }
  return step == JsonScanner::Step::done;
}
}  // namespace

Step JsonArguments::read(Input& input, EventList& out) {
  if (!out.is_in_call()) {
    input.skip_blanks();
    if (input.rest().empty()) return Step::more;
    problem_ = "its arguments are no object";
    if (input.rest().front() != '{') return Step::broken;
    out.begin(name_, id_);
  }
  auto step = JsonScanner::Step::more;
  std::size_t used = 0;
  const auto rest = input.rest();
  while (used < rest.size() && step == JsonScanner::Step::more) step = scanner_.push(rest[used++]);
  const bool is_broken = step == JsonScanner::Step::broken;
  out.arguments(rest.substr(0, is_broken ? used - 1 : used));
  input.skip(used);
  problem_ = "its arguments are not valid JSON";
  if (step == JsonScanner::Step::done) out.end();
  return is_broken ? Step::broken : step == JsonScanner::Step::done ? Step::done : Step::more;
}

Step JsonCall::read(Input& input, EventList& out) {
  auto step = Step::more;
  std::size_t used = 0;
  const auto rest = input.rest();
  while (used < rest.size() && step == Step::more) step = push(rest[used++], out);
  input.skip(used);
  return step;
}

Step JsonCall::push(char c, EventList& out) {
  const bool is_member = scanner_.depth() == 1;
  const bool was_key = scanner_.is_in_key();
  const bool is_start = scanner_.expects_value() && !is_blank(c);
  const auto scanned = scanner_.push(c);
  if (scanned == JsonScanner::Step::broken) return fail("its JSON is not valid");
  if (is_member && (was_key || scanner_.is_in_key())) return push_key(c, was_key);
  auto step = Step::more;
  if (is_value_open_ || (is_member && is_start)) step = push_value(c, !is_value_open_, out);
  if (step == Step::more && scanned == JsonScanner::Step::done) return end(out);
  return step;
}

Step JsonCall::push_key(char c, bool was_key) {
  if (!was_key) quoted_.clear();
  quoted_ += c;
  if (scanner_.is_in_key()) return Step::more;
  const auto key = unquoted(quoted_);
  const bool is_arguments = key == "arguments" || key == "parameters";
  member_ = key == "name" ? Member::name : is_arguments ? Member::arguments : Member::other;
  const bool is_second = (member_ == Member::name && !name_.empty()) || (is_arguments && has_arguments_);
  return is_second ? fail("it has a second name or arguments") : Step::more;
}

Step JsonCall::push_value(char c, bool is_start, EventList& out) {
  if (is_start && start_value(c) == Step::broken) return Step::broken;
  const bool is_end = scanner_.depth() == 1 && !scanner_.is_in_scalar();
  if (member_ != Member::other && value_start_ == '"') quoted_ += c;
  if (member_ == Member::arguments && value_start_ == '{') give({&c, 1}, out);
  if (!is_end) return Step::more;
  is_value_open_ = false;
  return end_value(out);
}

Step JsonCall::start_value(char c) {
  is_value_open_ = true;
  value_start_ = c;
  quoted_.clear();
  if (member_ == Member::name && c != '"') return fail("its name is no string");
  if (member_ != Member::arguments) return Step::more;
  has_arguments_ = true;
  return c == '{' || c == '"' || c == 'n' ? Step::more : fail("its arguments are no object");
}

Step JsonCall::end_value(EventList& out) {
  if (member_ == Member::arguments && value_start_ == '"') return unwrap(out);
  if (member_ == Member::arguments && value_start_ == 'n') give("{}", out);
  if (member_ != Member::name) return Step::more;
  const auto name = unquoted(quoted_);
  if (!name || name->empty()) return fail("its name is empty or not valid");
  name_ = *name;
  if (has_arguments_) give(std::exchange(early_arguments_, {}), out);
  return Step::more;
}

Step JsonCall::unwrap(EventList& out) {
  const auto arguments = unquoted(quoted_);
  if (!arguments || !is_object(*arguments)) return fail("its arguments are no object");
  give(*arguments, out);
  return Step::more;
}

void JsonCall::give(std::string_view arguments, EventList& out) {
  if (name_.empty()) {
    early_arguments_ += arguments;
    return;
  }
  if (!out.is_in_call()) out.begin(name_);
  out.arguments(arguments);
}

Step JsonCall::end(EventList& out) {
  if (name_.empty()) return fail("it has no name");
  if (!has_arguments_ && needs_arguments_) return fail("it has no arguments");
  if (!has_arguments_) give("{}", out);
  out.end();
  return Step::done;
}

Step JsonCall::fail(std::string_view what) {
  problem_ = what;
  return Step::broken;
}
}  // namespace corisco::gateway::tool_calls
