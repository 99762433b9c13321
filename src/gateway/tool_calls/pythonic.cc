// Llama 3.2 and 4:  the whole reply is [f(a=1, b="x"), g()], also in <|python_start|>, <|python_end|>.
// Python's literals become JSON argument by argument. A list of something else is an answer.
#include <utility>

#include "corisco/base/strings.h"
#include "gateway/tool_calls/argument_values.h"
#include "gateway/tool_calls/call_parser.h"
#include "gateway/tool_calls/families.h"

namespace corisco::gateway::tool_calls {
namespace {
// Where a keyword's value ends, quotes and brackets considered.
class PythonExtent {
 public:
  // True: c comes after the value.
  bool push(char c) {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (quote_ != 0) {
      is_escaped_ = c == '\\';
      if (c == quote_) quote_ = 0;
    } else if (depth_ == 0 && (c == ',' || c == ')' || c == ']' || c == '}')) {
      return true;
    } else if (c == '"' || c == '\'') {
      quote_ = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth_;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth_;
    }
    return false;
  }

 private:
  char quote_ = 0;
  bool is_escaped_ = false;
  std::size_t depth_ = 0;
};

enum class At { list, name, keyword, value, after };

class Pythonic final : public PartedParser<At> {
 public:
  Pythonic() : PartedParser({{"<|python_start|>"}, {"[", true}}) {}

 private:
  void open(std::size_t opener) override {
    is_wrapped_ = opener == 0;
    at_ = is_wrapped_ ? At::list : At::name;
  }
  Step read_part() override {
    if (at_ == At::value) return read_value();
    if (at_ != At::after) input_.skip_blanks();
    switch (at_) {
      case At::list: return read_list();
      case At::name: return read_name();
      case At::keyword: return read_keyword();
      default: return read_after();
    }
  }
  Step read_list() {
    const auto match = input_.take("[");
    if (match == Match::no) return fail("no list of calls after <|python_start|>");
    return match == Match::more ? Step::more : go(At::name);
  }
  Step read_name() {
    const auto length = input_.rest().find('(');
    name_ = input_.rest().substr(0, length);
    if (!is_name(name_) && !(name_.empty() && length != 0)) return fail("the call has no name");
    if (length == std::string_view::npos) return Step::more;
    input_.skip(length + 1);
    has_keys_ = false;
    return go(At::keyword);
  }
  Step read_keyword() {
    if (input_.take(")") == Match::yes) {
      begin();
      out_.arguments(has_keys_ ? "}" : "{}");
      out_.end();
      return go(At::after);
    }
    const auto length = input_.rest().find('=');
    const auto key = trim(input_.rest().substr(0, length));
    if (!is_name(key) && !(key.empty() && length != 0)) return fail("an argument has no name");
    if (length == std::string_view::npos) return Step::more;
    begin();
    out_.arguments(cat(has_keys_ ? ", " : "{", json_string(key), ": "));
    input_.skip(length + 1);
    has_keys_ = true;
    extent_ = PythonExtent();
    scanned_ = 0;
    return go(At::value);
  }
  Step read_value() {
    const auto rest = input_.rest();
    while (scanned_ < rest.size() && !extent_.push(rest[scanned_])) ++scanned_;
    if (scanned_ == rest.size()) return Step::more;
    const auto json = python_as_json(rest.substr(0, scanned_));
    if (!json) return fail("an argument is no literal");
    out_.arguments(*json);
    input_.skip(scanned_ + (rest[scanned_] == ',' ? 1 : 0));
    return go(At::keyword);
  }
  Step read_after() {
    const auto blanks = count_blanks(input_.rest());
    const auto comma = input_.starts_with(",", blanks);
    if (comma == Match::more && !input_.is_last()) return Step::more;
    if (comma != Match::yes) return is_wrapped_ ? read_end({"]", "<|python_end|>"}) : read_end({"]"});
    next_call(input_.position(), input_.position() + blanks + 1);
    input_.skip(blanks + 1);
    return go(At::name);
  }
  void begin() {
    if (!out_.is_in_call()) out_.begin(name_);
  }

  bool is_wrapped_ = false;
  std::string name_;
  bool has_keys_ = false;
  PythonExtent extent_;
  std::size_t scanned_ = 0;              // bytes of the open value that extent_ has seen
};
}  // namespace

std::unique_ptr<Parser> make_pythonic() { return std::make_unique<Pythonic>(); }
}  // namespace corisco::gateway::tool_calls
