// Kimi K2, in a section of calls:
//   <|tool_calls_section_begin|>
//   <|tool_call_begin|>functions.NAME:INDEX<|tool_call_argument_begin|>{...}<|tool_call_end|>
//   <|tool_calls_section_end|>
// What stands before the arguments is the call's id, which its templates write back. It may lack
// "functions." or the index; where it is nothing but an index, the arguments tell which tool is meant.
#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "gateway/tool_calls/families.h"
#include "gateway/tool_calls/json_call.h"
#include "gateway/tool_calls/tool_schemas.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr std::string_view kSection = "<|tool_calls_section_begin|>";
constexpr std::string_view kSectionEnd = "<|tool_calls_section_end|>";
constexpr std::string_view kCall = "<|tool_call_begin|>";
constexpr std::string_view kArguments = "<|tool_call_argument_begin|>";
constexpr std::string_view kCallEnd = "<|tool_call_end|>";
constexpr std::string_view kNamespace = "functions.";

bool is_index(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "functions.ls:0" is ls; "0" has no name.
std::string_view name_in(std::string_view id) {
  if (starts_with(id, kNamespace)) id.remove_prefix(kNamespace.size());
  else if (is_index(id)) return {};
  const auto colon = id.rfind(':');
  return colon != std::string_view::npos && is_index(id.substr(colon + 1)) ? id.substr(0, colon) : id;
}

enum class At { section, section_end, id, arguments, nameless, end };

class KimiK2 final : public PartedParser<At> {
 public:
  explicit KimiK2(const Tools& tools)
      : PartedParser({{std::string(kSection)}, {std::string(kCall)}, {std::string(kSectionEnd)}}), schemas_(tools) {}

 private:
  void open(std::size_t opener) override {
    constexpr At kFirst[] = {At::section, At::id, At::section_end};
    at_ = kFirst[opener];
  }
  Step read_part() override {
    switch (at_) {
      case At::section: return read_section();
      case At::section_end: return had_call() ? Step::done : fail("a section of calls ends without one");
      case At::id: return read_id();
      case At::arguments: return read_arguments();
      case At::nameless: return read_nameless();
      case At::end: return read_end({kCallEnd});
    }
    return Step::broken;
  }
  Step read_section() {
    const auto step = read_first_call(kCall);
    return step == Step::done ? go(At::id) : step;
  }
  Step read_id() {
    const auto length = input_.rest().find('<');
    const auto id = trim(input_.rest().substr(0, length));
    if (!id.empty() && !is_name(id)) return fail("no id follows the start of the call");
    if (length == std::string_view::npos) return Step::more;
    const auto match = input_.starts_with(kArguments, length);
    if (match == Match::more) return Step::more;
    if (match == Match::no) return fail("no arguments follow the call's id");
    if (id.empty()) return fail("the call has no id");
    id_ = id;
    const std::string name(name_in(id));
    if (name.empty() && !is_index(id)) return fail("the call's id has no name");
    arguments_ = JsonArguments(name, id_);
    scanner_ = JsonScanner();
    scanned_ = 0;
    input_.skip(length + kArguments.size());
    return go(name.empty() ? At::nameless : At::arguments);
  }
  Step read_arguments() {
    const auto step = arguments_.read(input_, out_);
    if (step == Step::broken) return fail(arguments_.problem());
    return step == Step::done ? go(At::end) : step;
  }
  // Consumes nothing until the arguments are whole and tell the tool's name.
  Step read_nameless() {
    const auto rest = input_.rest();
    auto step = JsonScanner::Step::more;
    while (scanned_ < rest.size() && step == JsonScanner::Step::more) step = scanner_.push(rest[scanned_++]);
    if (step == JsonScanner::Step::broken) return fail("its arguments are not valid JSON");
    if (step == JsonScanner::Step::more) return Step::more;
    const auto arguments = parse_json(rest.substr(0, scanned_));
    std::vector<std::string> parameters;
    if (arguments.is_object())
      for (const auto& [name, value] : arguments.items()) parameters.push_back(name);
    const auto name = schemas_.tool_with(parameters);
    if (name.empty()) return fail("the call has no name, and its arguments fit no tool alone");
    arguments_ = JsonArguments(name, id_);
    return go(At::arguments);
  }

  ToolSchemas schemas_;
  std::string id_;
  JsonArguments arguments_;
  JsonScanner scanner_;                  // of arguments without a name
  std::size_t scanned_ = 0;
};
}  // namespace

std::unique_ptr<Parser> make_kimi_k2(const Tools& tools) { return std::make_unique<KimiK2>(tools); }
}  // namespace corisco::gateway::tool_calls
