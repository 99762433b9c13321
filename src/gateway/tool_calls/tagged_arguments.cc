#include "gateway/tool_calls/tagged_arguments.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "corisco/base/strings.h"
#include "gateway/tool_calls/argument_values.h"

namespace corisco::gateway::tool_calls {
namespace {
struct Attributes {
  std::string_view name;
  std::optional<bool> is_string;
};

// KEY; as attributes name="KEY" string="true", or without the second.
std::optional<Attributes> attributes_of(std::string_view text, bool has_attributes) {
  if (!has_attributes) return Attributes{text, std::nullopt};
  constexpr std::string_view kName = "name=\"";
  if (!starts_with(text, kName)) return std::nullopt;
  const auto end = text.find('"', kName.size());
  if (end == std::string_view::npos) return std::nullopt;
  const auto rest = trim(text.substr(end + 1));
  Attributes attributes{text.substr(kName.size(), end - kName.size()), std::nullopt};
  if (rest == "string=\"true\"") attributes.is_string = true;
  else if (rest == "string=\"false\"") attributes.is_string = false;
  else if (!rest.empty()) return std::nullopt;
  return attributes;
}
}  // namespace

void TaggedArguments::start(std::string tool) {
  tool_ = std::move(tool);
  at_ = At::tag;
  has_keys_ = false;
}

Step TaggedArguments::read(Input& input, EventList& out) {
  while (true) {
    const auto before = at_;
    const auto step = read_part(input, out);
    if (step != Step::done || at_ == before) return step;
  }
}

// Done: goes on at another part, or, at the same one, the arguments are over.
Step TaggedArguments::read_part(Input& input, EventList& out) {
  switch (at_) {
    case At::tag: return read_tag(input, out);
    case At::key: return read_key(input, out);
    case At::value_tag: return read_value_tag(input);
    case At::value: return read_value(input, out);
  }
  return Step::broken;
}

Step TaggedArguments::read_tag(Input& input, EventList& out) {
  input.skip_blanks();
  const auto key = input.take(syntax_.key);
  const auto end = key == Match::yes ? Match::no : input.take(syntax_.end);
  const auto outer = syntax_.outer_end.empty() ? Match::no : input.starts_with(syntax_.outer_end);
  const bool is_end = end == Match::yes || (key == Match::no && outer == Match::yes);
  if (key == Match::yes || is_end) {
    if (!out.is_in_call()) out.begin(tool_);
    if (is_end) {
      out.arguments(has_keys_ ? "}" : "{}");
      out.end();
      return Step::done;
    }
    at_ = At::key;
    return Step::done;
  }
  if (key == Match::more || end == Match::more || outer == Match::more) return Step::more;
  return fail(cat("neither ", syntax_.key, " nor ", syntax_.end, " where one must be"));
}

Step TaggedArguments::read_key(Input& input, EventList& out) {
  const auto rest = input.rest();
  const auto length = rest.find(syntax_.key_end);
  const bool has_newline = rest.substr(0, length).find('\n') != std::string_view::npos;
  if (has_newline) return fail("a parameter's name does not end");
  if (length == std::string_view::npos) return Step::more;
  if (!start_value(trim(rest.substr(0, length)), out)) return fail("a parameter has no name");
  is_value_start_ = true;
  searched_ = 0;
  input.skip(length + syntax_.key_end.size());
  at_ = At::value_tag;
  return Step::done;
}

// What the key's text says of the value, and the JSON up to it. False: it names no parameter.
bool TaggedArguments::start_value(std::string_view key_text, EventList& out) {
  const auto attributes = attributes_of(key_text, syntax_.has_attributes);
  if (!attributes || attributes->name.empty()) return false;
  const auto key = attributes->name;
  types_ = schemas_->types(tool_, key);
  is_json_if_unknown_ = syntax_.is_json_if_unknown;
  is_string_ = types_.is_only_string() || (!types_.is_known() && !is_json_if_unknown_);
  if (attributes->is_string) {
    types_ = {};
    is_string_ = *attributes->is_string;
    is_json_if_unknown_ = true;
  }
  out.arguments(cat(has_keys_ ? ", " : "{", json_string(key), is_string_ ? ": \"" : ": "));
  has_keys_ = true;
  return true;
}

Step TaggedArguments::read_value_tag(Input& input) {
  if (!syntax_.value.empty()) {
    input.skip_blanks();
    const auto match = input.take(syntax_.value);
    if (match == Match::more) return Step::more;
    if (match == Match::no) return fail(cat("no ", syntax_.value, " after a parameter's name"));
  }
  at_ = At::value;
  return Step::done;
}

Step TaggedArguments::read_value(Input& input, EventList& out) {
  while (true) {
    const auto rest = input.rest();
    const auto length = rest.find(syntax_.value_end, searched_);
    if (length == std::string_view::npos) {
      searched_ = std::max(searched_, rest.size() - partial_suffix(rest, syntax_.value_end));
      stream(input, searched_, out);
      return Step::more;
    }
    searched_ = length;
    const auto match = tag_follows(input, length + syntax_.value_end.size());
    if (match == Match::yes) {
      end_value(input, length, out);
      at_ = At::tag;
      return Step::done;
    }
    if (match == Match::more) {
      stream(input, length, out);
      return Step::more;
    }
    searched_ = length + 1;
  }
}

Match TaggedArguments::tag_follows(const Input& input, std::size_t offset) const {
  offset += count_blanks(input.rest().substr(offset));
  auto best = Match::no;
  for (const auto tag : {syntax_.key, syntax_.end, syntax_.outer_end}) {
    const auto match = tag.empty() ? Match::no : input.starts_with(tag, offset);
    if (match == Match::yes) return match;
    if (match == Match::more) best = match;
  }
  return best;
}

// Gives what is surely the value's of the next bytes.
void TaggedArguments::stream(Input& input, std::size_t bytes, EventList& out) {
  if (!is_string_ || bytes == 0) return;
  auto text = input.rest().substr(0, bytes);
  const bool is_newline_dropped = is_value_start_ && syntax_.is_newline_markup && text.front() == '\n';
  if (is_newline_dropped) text.remove_prefix(1);
  const bool is_last_held = syntax_.is_newline_markup && !text.empty() && text.back() == '\n';
  if (is_last_held) text.remove_suffix(1);
  is_value_start_ = false;
  out.arguments(escaped(text));
  const auto used = text.size() + (is_newline_dropped ? 1 : 0);
  input.skip(used);
  searched_ -= used;
}

void TaggedArguments::end_value(Input& input, std::size_t bytes, EventList& out) {
  if (is_string_) {
    stream(input, bytes, out);
    out.arguments("\"");
  } else {
    auto text = input.rest().substr(0, bytes);
    if (syntax_.is_newline_markup && starts_with(text, "\n")) text.remove_prefix(1);
    if (syntax_.is_newline_markup && ends_with(text, "\n")) text.remove_suffix(1);
    out.arguments(value_as_json(text, types_, is_json_if_unknown_));
    searched_ = bytes;
  }
  input.skip(searched_ + syntax_.value_end.size());
}

Step TaggedArguments::fail(std::string_view what) {
  problem_ = what;
  return Step::broken;
}
}  // namespace corisco::gateway::tool_calls
