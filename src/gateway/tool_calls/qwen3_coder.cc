// Qwen3-Coder, Qwen3.5 and later, Nemotron 3:
//   <tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n</function>\n</tool_call>
// Also without the outer tags, and with several functions in them, as in vLLM.
#include "gateway/tool_calls/families.h"
#include "gateway/tool_calls/tagged_arguments.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr std::string_view kOuter = "<tool_call>";
constexpr std::string_view kOuterEnd = "</tool_call>";
constexpr std::string_view kFunction = "<function=";
constexpr TagSyntax kSyntax = {.key = "<parameter=",
                               .key_end = ">",
                               .value = "",
                               .value_end = "</parameter>",
                               .end = "</function>",
                               .outer_end = kOuterEnd,
                               .is_newline_markup = true,
                               .is_json_if_unknown = false};

enum class At { function, name, arguments, end };

class Qwen3Coder final : public PartedParser<At> {
 public:
  explicit Qwen3Coder(const Tools& tools)
      : PartedParser({{std::string(kOuter)}, {std::string(kFunction)}}),
        arguments_(kSyntax, std::make_shared<const ToolSchemas>(tools)) {}

 private:
  void open(std::size_t opener) override {
    const bool is_outer = opener == 0;
    is_wrapped_ = is_outer || is_wrapped_;
    at_ = is_outer ? At::function : At::name;
  }
  Step read() override {
    const auto step = PartedParser::read();
    if (step == Step::broken) is_wrapped_ = false;
    return step;
  }
  Step read_part() override {
    switch (at_) {
      case At::function: return read_function();
      case At::name: return read_name();
      case At::arguments: return read_arguments();
      case At::end: return read_outer_end();
    }
    return Step::broken;
  }
  Step read_function() {
    input_.skip_blanks();
    const auto match = input_.take(kFunction);
    if (match == Match::no) return fail("no <function= after <tool_call>");
    if (match == Match::more) return Step::more;
    resume_here();
    return go(At::name);
  }
  Step read_name() {
    const auto length = input_.rest().find('>');
    const auto name = input_.rest().substr(0, length);
    if (name.empty() ? length == 0 : !is_name(name)) return fail("the function has no name");
    if (length == std::string_view::npos) return Step::more;
    arguments_.start(std::string(name));
    input_.skip(length + 1);
    return go(At::arguments);
  }
  Step read_arguments() {
    const auto step = arguments_.read(input_, out_);
    if (step == Step::broken) return fail(arguments_.problem());
    return step == Step::done ? go(At::end) : step;
  }
  Step read_outer_end() {
    const auto next = input_.starts_with(kFunction, count_blanks(input_.rest()));
    if (!is_wrapped_ || next == Match::yes) return Step::done;
    if (next == Match::more && !input_.is_last()) return Step::more;
    const auto step = read_end({kOuterEnd});
    if (step == Step::done) is_wrapped_ = false;
    return step;
  }

  bool is_wrapped_ = false;              // an outer tag is open
  TaggedArguments arguments_;
};
}  // namespace

std::unique_ptr<Parser> make_qwen3_coder(const Tools& tools) {
  return std::make_unique<Qwen3Coder>(tools);
}
}  // namespace corisco::gateway::tool_calls
