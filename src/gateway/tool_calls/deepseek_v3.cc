// DeepSeek V3 and R1, and V3.1 (no type, no fence), in a section of calls:
//   <｜tool▁calls▁begin｜>
//   <｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n{...}\n```<｜tool▁call▁end｜>
//   <｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{...}<｜tool▁call▁end｜>
//   <｜tool▁calls▁end｜>
#include "gateway/tool_calls/families.h"
#include "gateway/tool_calls/json_call.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr std::string_view kSection = "<｜tool▁calls▁begin｜>";
constexpr std::string_view kSectionEnd = "<｜tool▁calls▁end｜>";
constexpr std::string_view kCall = "<｜tool▁call▁begin｜>";
constexpr std::string_view kCallEnd = "<｜tool▁call▁end｜>";
constexpr std::string_view kSeparator = "<｜tool▁sep｜>";
constexpr std::string_view kFence = "```json";

enum class At { section, section_end, head, form, name, arguments, end };

class DeepseekV3 final : public PartedParser<At> {
 public:
  DeepseekV3()
      : PartedParser({{std::string(kSection)}, {std::string(kCall)}, {std::string(kSectionEnd)}}) {}

 private:
  void open(std::size_t opener) override {
    constexpr At kFirst[] = {At::section, At::head, At::section_end};
    at_ = kFirst[opener];
    is_fenced_ = false;
  }
  Step read_part() override {
    switch (at_) {
      case At::section: return read_section();
      case At::section_end: return had_call() ? Step::done : fail("a section of calls ends without one");
      case At::head: return read_head();
      case At::form: return read_form();
      case At::name: return read_name();
      case At::arguments: return read_arguments();
      case At::end: return is_fenced_ ? read_end({"```", kCallEnd}) : read_end({kCallEnd});
    }
    return Step::broken;
  }
  Step read_section() {
    const auto step = read_first_call(kCall);
    return step == Step::done ? go(At::head) : step;
  }
  // The type, or the name in V3.1.
  Step read_head() {
    const auto length = input_.rest().find('<');
    head_ = input_.rest().substr(0, length);
    if (!head_.empty() && !is_name(head_)) return fail("no name follows the start of the call");
    if (length == std::string_view::npos) return Step::more;
    const auto match = input_.starts_with(kSeparator, length);
    if (match == Match::more) return Step::more;
    if (match == Match::no) return fail("the call has no separator");
    input_.skip(length + kSeparator.size());
    return go(At::form);
  }
  Step read_form() {
    input_.skip_blanks();
    if (input_.rest().empty()) return Step::more;
    is_fenced_ = input_.rest().front() != '{';
    arguments_ = JsonArguments(head_);
    if (!is_fenced_ && head_.empty()) return fail("the call has no name");
    return go(is_fenced_ ? At::name : At::arguments);
  }
  Step read_name() {
    const auto length = input_.rest().find('\n');
    const auto name = input_.rest().substr(0, length);
    if (!is_name(name)) return fail("the call has no name");
    if (length == std::string_view::npos) return Step::more;
    const auto at = length + count_blanks(input_.rest().substr(length));
    const auto match = input_.starts_with(kFence, at);
    if (match == Match::more) return Step::more;
    if (match == Match::no) return fail("no ```json after the call's name");
    arguments_ = JsonArguments(std::string(name));
    input_.skip(at + kFence.size());
    return go(At::arguments);
  }
  Step read_arguments() {
    const auto step = arguments_.read(input_, out_);
    if (step == Step::broken) return fail(arguments_.problem());
    return step == Step::done ? go(At::end) : step;
  }

  bool is_fenced_ = false;
  std::string head_;
  JsonArguments arguments_;
};
}  // namespace

std::unique_ptr<Parser> make_deepseek_v3() { return std::make_unique<DeepseekV3>(); }
}  // namespace corisco::gateway::tool_calls
