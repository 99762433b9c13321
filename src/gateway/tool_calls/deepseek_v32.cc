// DeepSeek V3.2, V4 and V4.1 (spaced), in a section of calls, or without one:
//   <｜DSML｜function_calls>\n<｜DSML｜invoke name="NAME">\n
//   <｜DSML｜parameter name="KEY" string="true|false">VALUE</｜DSML｜parameter>\n
//   </｜DSML｜invoke>\n</｜DSML｜function_calls>
// Also one JSON object in place of the parameters, and <｜DSML｜invoke name="NAME"/> without any.
#include "corisco/base/strings.h"
#include "gateway/tool_calls/families.h"
#include "gateway/tool_calls/json_call.h"
#include "gateway/tool_calls/tagged_arguments.h"

namespace corisco::gateway::tool_calls {
namespace {
struct Dialect {
  std::string_view section, section_end, invoke, invoke_end, parameter, parameter_end;
};
// V4 and V3.2 differ in the section's name only: a call without one reads the same.
constexpr Dialect kDialects[] = {
    {"<｜DSML｜function_calls>", "</｜DSML｜function_calls>", "<｜DSML｜invoke", "</｜DSML｜invoke>",
     "<｜DSML｜parameter", "</｜DSML｜parameter>"},
    {"<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", "<｜DSML｜invoke", "</｜DSML｜invoke>",
     "<｜DSML｜parameter", "</｜DSML｜parameter>"},
    {"<｜DSML｜ calls>", "</｜DSML｜ calls>", "<｜DSML｜ invoke", "</｜DSML｜ invoke>",
     "<｜DSML｜ parameter", "</｜DSML｜ parameter>"},
};
constexpr std::string_view kName = "name=\"";

TagSyntax syntax_of(const Dialect& dialect) {
  return {.key = dialect.parameter,
          .key_end = ">",
          .value = "",
          .value_end = dialect.parameter_end,
          .end = dialect.invoke_end,
          .outer_end = dialect.section_end,
          .is_newline_markup = false,
          .is_json_if_unknown = true,
          .has_attributes = true};
}

// Each dialect's section, call and section's end, in this order.
std::vector<Opener> openers() {
  std::vector<Opener> all;
  for (const auto& dialect : kDialects)
    for (const auto text : {dialect.section, dialect.invoke, dialect.section_end}) all.push_back({std::string(text)});
  return all;
}

enum class At { section, section_end, name, name_end, body, json, parameters, end };

class DeepseekV32 final : public PartedParser<At> {
 public:
  explicit DeepseekV32(const Tools& tools)
      : PartedParser(openers()), schemas_(std::make_shared<const ToolSchemas>(tools)),
        parameters_(syntax_of(kDialects[0]), schemas_) {}

 private:
  void open(std::size_t opener) override {
    constexpr At kFirst[] = {At::section, At::name, At::section_end};
    at_ = kFirst[opener % 3];
    // Calls of a section keep its dialect: only its name tells V4 from V3.2.
    const bool is_other = kDialects[opener / 3].invoke != kDialects[dialect_].invoke;
    if (at_ == At::section || is_other) dialect_ = opener / 3;
  }
  Step read_part() override {
    switch (at_) {
      case At::section: return read_section();
      case At::section_end: return had_call() ? Step::done : fail("a section of calls ends without one");
      case At::name: return read_name();
      case At::name_end: return read_name_end();
      case At::body: return read_body();
      case At::json: return read_json();
      case At::parameters: return read_parameters();
      case At::end: return read_end({kDialects[dialect_].invoke_end});
    }
    return Step::broken;
  }
  Step read_section() {
    input_.skip_blanks();
    const auto match = input_.take(kDialects[dialect_].invoke);
    if (match == Match::no) return fail("a section of calls has no call");
    if (match == Match::more) return Step::more;
    resume_here();
    return go(At::name);
  }
  Step read_name() {
    const auto blanks = count_blanks(input_.rest());
    const auto match = input_.starts_with(kName, blanks);
    if (match == Match::no || (blanks == 0 && !input_.rest().empty())) return fail("the call has no name");
    if (match == Match::more) return Step::more;
    const auto begin = blanks + kName.size();
    const auto name = input_.rest().substr(begin, input_.rest().substr(begin).find('"'));
    const bool is_whole = begin + name.size() < input_.rest().size();
    if (is_whole ? !is_name(name) : !name.empty() && !is_name(name)) return fail("the call has no name");
    if (!is_whole) return Step::more;
    name_ = name;
    input_.skip(begin + name.size() + 1);
    return go(At::name_end);
  }
  Step read_name_end() {
    input_.skip_blanks();
    const auto rest = input_.rest();
    const bool may_be_closed = rest == "/";
    if (rest.empty() || may_be_closed) return Step::more;
    const bool is_closed = starts_with(rest, "/>");
    if (!is_closed && rest.front() != '>') return fail("the call's tag does not end");
    input_.skip(is_closed ? 2 : 1);
    if (!is_closed) return go(At::body);
    out_.begin(name_);
    out_.arguments("{}");
    out_.end();
    return Step::done;
  }
  Step read_body() {
    input_.skip_blanks();
    if (input_.rest().empty()) return Step::more;
    const bool is_json = input_.rest().front() == '{';
    if (is_json) {
      arguments_ = JsonArguments(name_);
    } else {
      parameters_ = TaggedArguments(syntax_of(kDialects[dialect_]), schemas_);
      parameters_.start(name_);
    }
    return go(is_json ? At::json : At::parameters);
  }
  Step read_json() {
    const auto step = arguments_.read(input_, out_);
    if (step == Step::broken) return fail(arguments_.problem());
    return step == Step::done ? go(At::end) : step;
  }
  Step read_parameters() {
    const auto step = parameters_.read(input_, out_);
    return step == Step::broken ? fail(parameters_.problem()) : step;
  }

  std::size_t dialect_ = 0;
  std::string name_;
  JsonArguments arguments_;
  std::shared_ptr<const ToolSchemas> schemas_;
  TaggedArguments parameters_;
};
}  // namespace

std::unique_ptr<Parser> make_deepseek_v32(const Tools& tools) { return std::make_unique<DeepseekV32>(tools); }
}  // namespace corisco::gateway::tool_calls
