// GLM 4.5 to 4.7 (which leave out the newlines), and 5:
//   <tool_call>NAME\n<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n</tool_call>
#include "gateway/tool_calls/families.h"
#include "gateway/tool_calls/tagged_arguments.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr TagSyntax kSyntax = {.key = "<arg_key>",
                               .key_end = "</arg_key>",
                               .value = "<arg_value>",
                               .value_end = "</arg_value>",
                               .end = "</tool_call>",
                               .outer_end = "",
                               .is_newline_markup = false,
                               .is_json_if_unknown = true};

class Glm45 final : public CallParser {
 public:
  explicit Glm45(const Tools& tools)
      : CallParser({{"<tool_call>"}}),
        arguments_(kSyntax, std::make_shared<const ToolSchemas>(tools)) {}

 private:
  void open(std::size_t) override { has_name_ = false; }
  Step read() override {
    if (!has_name_) {
      const auto step = read_name();
      if (step != Step::done) return step;
    }
    const auto step = arguments_.read(input_, out_);
    return step == Step::broken ? fail(arguments_.problem()) : step;
  }
  Step read_name() {
    input_.skip_blanks();
    const auto length = input_.rest().find_first_of("\n<\\");
    const auto name = input_.rest().substr(0, length);
    if (name.empty() ? length == 0 : !is_name(name)) return fail("the call has no name");
    if (length == std::string_view::npos) return Step::more;
    const auto escape = input_.starts_with("\\n", length);   // written out, by some of these models
    if (escape == Match::more) return Step::more;
    arguments_.start(std::string(name));
    input_.skip(length + (escape == Match::yes ? 2 : 0));
    has_name_ = true;
    return Step::done;
  }

  bool has_name_ = false;
  TaggedArguments arguments_;
};
}  // namespace

std::unique_ptr<Parser> make_glm45(const Tools& tools) { return std::make_unique<Glm45>(tools); }
}  // namespace corisco::gateway::tool_calls
