#include "gateway/tool_calls/gemma_values.h"

#include <nlohmann/json.hpp>

#include "corisco/base/strings.h"
#include "gateway/tool_calls/argument_values.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr std::size_t kDepthMax = 64;    // as for JSON

bool is_word(std::string_view key) { return key.find_first_of("{}[],\"<\n") == std::string_view::npos; }

std::string bare_as_json(std::string_view value) {
  if (nlohmann::json::accept(value)) return std::string(value);
  if (value == "None") return "null";
  if (value == "True") return "true";
  if (value == "False") return "false";
  return json_string(value);
}
}  // namespace

Step GemmaObject::read(Input& input, EventList& out) {
  while (true) {
    if (at_ != At::string && at_ != At::bare) input.skip_blanks();
    if (input.rest().empty()) return Step::more;
    const auto step = read_part(input, out);
    if (step != Step::done) return step;
    if (open_.empty()) return Step::done;
  }
}

Step GemmaObject::read_part(Input& input, EventList& out) {
  const char next = input.rest().front();
  switch (at_) {
    case At::open: return open('{', input, out);
    case At::key_or_end: return next == '}' ? close(input, out) : read_key(input, out);
    case At::key: return read_key(input, out);
    case At::item_or_end: return next == ']' ? close(input, out) : read_value(input, out);
    case At::value: return read_value(input, out);
    case At::string: return read_string(input, out);
    case At::bare: return read_bare(input, out);
    case At::after: return read_after(input, out);
  }
  return Step::broken;
}

// KEY: or a key in quotes.
Step GemmaObject::read_key(Input& input, EventList& out) {
  const auto quote = input.starts_with(quote_);
  if (quote == Match::more) return Step::more;
  const auto begin = quote == Match::yes ? quote_.size() : 0;
  const auto rest = input.rest().substr(begin);
  const auto length = quote == Match::yes ? rest.find(quote_) : rest.find(':');
  if (quote == Match::no && !is_word(rest.substr(0, length))) return fail("an argument has no name");
  if (length == std::string_view::npos) return Step::more;
  auto key = rest.substr(0, length);
  auto used = begin + length + (quote == Match::yes ? quote_.size() : 0);
  used += count_blanks(input.rest().substr(used));
  if (used == input.rest().size()) return Step::more;
  if (quote == Match::no) key = trim(key);
  if (key.empty() || input.rest()[used] != ':') return fail("an argument has no name");
  out.arguments(cat(json_string(key), ": "));
  input.skip(used + 1);
  at_ = At::value;
  return Step::done;
}

Step GemmaObject::read_value(Input& input, EventList& out) {
  const char next = input.rest().front();
  if (next == '{' || next == '[') return open(next, input, out);
  const auto quote = input.take(quote_);
  if (quote == Match::more) return Step::more;
  if (quote == Match::yes) out.arguments("\"");
  at_ = quote == Match::yes ? At::string : At::bare;
  scanned_ = 0;
  return Step::done;
}

Step GemmaObject::read_string(Input& input, EventList& out) {
  const auto rest = input.rest();
  const auto length = rest.find(quote_);
  const bool is_end = length != std::string_view::npos;
  const auto shown = is_end ? length : rest.size() - partial_suffix(rest, quote_);
  out.arguments(escaped(rest.substr(0, shown)));
  input.skip(shown);
  if (!is_end) return Step::more;
  out.arguments("\"");
  input.skip(quote_.size());
  at_ = At::after;
  return Step::done;
}

// Up to a comma or the bracket that closes what it stands in; in double quotes, to the quote that ends it.
Step GemmaObject::read_bare(Input& input, EventList& out) {
  const auto rest = input.rest();
  const bool is_quoted = rest.front() == '"';
  if (is_quoted && scanned_ == 0) scanned_ = 1;
  while (scanned_ < rest.size()) {
    const char c = rest[scanned_];
    if (is_quoted && c == '\\' && scanned_ + 1 == rest.size()) return Step::more;
    if (is_quoted ? c == '"' : c == ',' || c == '}' || c == ']') break;
    scanned_ += is_quoted && c == '\\' ? 2 : 1;
  }
  if (scanned_ >= rest.size()) return Step::more;
  const auto bytes = scanned_ + (is_quoted ? 1 : 0);
  const auto value = trim(rest.substr(0, bytes));
  if (value.empty()) return fail("an argument has no value");
  out.arguments(bare_as_json(value));
  input.skip(bytes);
  at_ = At::after;
  return Step::done;
}

Step GemmaObject::read_after(Input& input, EventList& out) {
  const char next = input.rest().front();
  if (next == '}' || next == ']') return close(input, out);
  if (next != ',') return fail("no comma after an argument's value");
  out.arguments(", ");
  input.skip(1);
  at_ = open_.back() == '{' ? At::key : At::value;
  return Step::done;
}

Step GemmaObject::open(char bracket, Input& input, EventList& out) {
  if (open_.size() == kDepthMax) return fail("its arguments are nested too deeply");
  open_ += bracket;
  out.arguments(bracket == '{' ? "{" : "[");
  input.skip(1);
  at_ = bracket == '{' ? At::key_or_end : At::item_or_end;
  return Step::done;
}

Step GemmaObject::close(Input& input, EventList& out) {
  const char bracket = open_.back() == '{' ? '}' : ']';
  if (input.rest().front() != bracket) return fail("its brackets do not match");
  open_.pop_back();
  out.arguments(bracket == '}' ? "}" : "]");
  input.skip(1);
  at_ = At::after;
  return Step::done;
}

Step GemmaObject::fail(std::string_view what) {
  problem_ = what;
  return Step::broken;
}
}  // namespace corisco::gateway::tool_calls
