// FunctionGemma and Gemma 4: values typed by their form, keys and strings unescaped.
//   <start_function_call>call:NAME{KEY:<escape>text<escape>,n:1}<end_function_call>
//   <|tool_call>call:NAME{KEY:<|"|>text<|"|>,list:[1,{a:true}]}<tool_call|>
#include "corisco/base/strings.h"
#include "gateway/tool_calls/call_parser.h"
#include "gateway/tool_calls/families.h"
#include "gateway/tool_calls/gemma_values.h"

namespace corisco::gateway::tool_calls {
namespace {
struct Dialect {
  std::string_view open, close, quote;
};
constexpr Dialect kDialects[] = {{"<start_function_call>", "<end_function_call>", "<escape>"},
                                 {"<|tool_call>", "<tool_call|>", "<|\"|>"}};
constexpr std::string_view kCall = "call:";

std::vector<Opener> openers() {
  std::vector<Opener> all;
  for (const auto& dialect : kDialects) all.push_back({std::string(dialect.open)});
  return all;
}

enum class At { start, name, arguments, end };

class Gemma final : public PartedParser<At> {
 public:
  Gemma() : PartedParser(openers()), arguments_(kDialects[0].quote) {}

 private:
  void open(std::size_t opener) override {
    dialect_ = &kDialects[opener];
    at_ = At::start;
  }
  Step read_part() override {
    switch (at_) {
      case At::start: return read_start();
      case At::name: return read_name();
      case At::arguments: return read_arguments();
      case At::end: return read_end({dialect_->close});
    }
    return Step::broken;
  }
  Step read_start() {
    input_.skip_blanks();
    const auto match = input_.take(kCall);
    if (match == Match::no) return fail("no call: after the start of a call");
    return match == Match::more ? Step::more : go(At::name);
  }
  Step read_name() {
    const auto length = input_.rest().find('{');
    const auto name = trim(input_.rest().substr(0, length));
    if (!is_name(name) && !(name.empty() && length == std::string_view::npos)) return fail("the call has no name");
    if (length == std::string_view::npos) return Step::more;
    out_.begin(std::string(name));
    arguments_ = GemmaObject(dialect_->quote);
    input_.skip(length);
    return go(At::arguments);
  }
  Step read_arguments() {
    const auto step = arguments_.read(input_, out_);
    if (step == Step::broken) return fail(arguments_.problem());
    if (step == Step::more) return step;
    out_.end();
    return go(At::end);
  }

  const Dialect* dialect_ = nullptr;
  GemmaObject arguments_;
};
}  // namespace

std::unique_ptr<Parser> make_gemma() { return std::make_unique<Gemma>(); }
}  // namespace corisco::gateway::tool_calls
