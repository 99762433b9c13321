// Mistral:  [TOOL_CALLS][{"name": ..., "arguments": {...}}, ...]    up to tokenizer v3 and v7
//           [TOOL_CALLS]NAME[ARGS]{...}    or NAME{...}, or NAME[CALL_ID]ID[ARGS]{...}    from v11
#include "gateway/tool_calls/families.h"
#include "gateway/tool_calls/json_call.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr std::string_view kId = "[CALL_ID]";
constexpr std::string_view kArguments = "[ARGS]";

enum class At { start, item, separator, name, id, arguments };

class Mistral final : public PartedParser<At> {
 public:
  Mistral() : PartedParser({{"[TOOL_CALLS]"}}) {}

 private:
  void open(std::size_t) override {
    at_ = At::start;
    is_list_ = false;
  }
  Step read_part() override {
    switch (at_) {
      case At::start: return read_start();
      case At::item: return read_item();
      case At::separator: return read_separator();
      case At::name: return read_name();
      case At::id: return read_id();
      case At::arguments: return read_arguments();
    }
    return Step::broken;
  }
  Step read_start() {
    input_.skip_blanks();
    if (input_.rest().empty()) return Step::more;
    const char c = input_.rest().front();
    is_list_ = c == '[';
    if (is_list_) input_.skip(1);
    call_ = JsonCall();
    return go(is_list_ || c == '{' ? At::item : At::name);
  }
  Step read_item() {
    const auto step = call_.read(input_, out_);
    if (step == Step::broken) return fail(call_.problem());
    if (step == Step::more || !is_list_) return step;
    return go(At::separator);
  }
  Step read_separator() {
    const auto blanks = count_blanks(input_.rest());
    if (blanks == input_.rest().size()) return input_.is_last() ? Step::done : Step::more;
    if (input_.rest()[blanks] != ',') return read_end({"]"});
    next_call(input_.position(), input_.position() + blanks + 1);
    input_.skip(blanks + 1);
    call_ = JsonCall();
    return go(At::item);
  }
  Step read_name() {
    const auto length = input_.rest().find_first_of("[{");
    const auto name = input_.rest().substr(0, length);
    if (!is_name(name) && !name.empty()) return fail("what follows [TOOL_CALLS] is no tool's name");
    if (length == std::string_view::npos) return Step::more;
    if (name.empty()) return fail("the call has no name");
    const auto has_arguments = input_.starts_with(kArguments, length);
    const auto has_id = input_.starts_with(kId, length);
    const bool is_brace = input_.rest()[length] == '{';
    if (!is_brace && has_arguments == Match::no && has_id == Match::no)
      return fail("no [ARGS] after the call's name");
    if (!is_brace && has_arguments != Match::yes && has_id != Match::yes) return Step::more;
    arguments_ = JsonArguments(std::string(name));
    input_.skip(length + (is_brace ? 0 : has_id == Match::yes ? kId.size() : kArguments.size()));
    return go(has_id == Match::yes ? At::id : At::arguments);
  }
  Step read_id() {
    const auto length = input_.rest().find('[');
    if (length == std::string_view::npos) return Step::more;
    const auto match = input_.starts_with(kArguments, length);
    if (match == Match::more) return Step::more;
    if (match == Match::no) return fail("no [ARGS] after the call's id");
    input_.skip(length + kArguments.size());
    return go(At::arguments);
  }
  Step read_arguments() {
    const auto step = arguments_.read(input_, out_);
    return step == Step::broken ? fail(arguments_.problem()) : step;
  }

  bool is_list_ = false;
  JsonCall call_;
  JsonArguments arguments_;
};
}  // namespace

std::unique_ptr<Parser> make_mistral() { return std::make_unique<Mistral>(); }
}  // namespace corisco::gateway::tool_calls
