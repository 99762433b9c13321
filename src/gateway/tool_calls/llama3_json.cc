// Llama 3.x: the whole reply is {"name": ..., "parameters": {...}}, also after <|python_tag|>, or
// several of them with ";" between. An object without both members is an answer in JSON, no call.
#include "gateway/tool_calls/families.h"
#include "gateway/tool_calls/json_call.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr std::size_t kBrace = 1;        // of the openers

class Llama3Json final : public CallParser {
 public:
  Llama3Json() : CallParser({{"<|python_tag|>"}, {"{", true}}) {}

 private:
  void open(std::size_t opener) override {
    is_between_ = false;
    start_call(opener == kBrace);
  }
  void start_call(bool is_brace_taken) {
    call_ = JsonCall(true);
    if (is_brace_taken) input_.go_to(input_.position() - 1);
  }
  Step read() override {
    while (true) {
      if (is_between_ && !find_next()) return is_waiting_ ? Step::more : Step::done;
      const auto step = call_.read(input_, out_);
      if (step == Step::broken) return fail(call_.problem());
      if (step == Step::more) return step;
      is_between_ = true;
    }
  }
  // After a call: whether ";" and another follow. Without them nothing is consumed.
  bool find_next() {
    const auto rest = input_.rest();
    auto at = count_blanks(rest);
    const bool is_separated = at < rest.size() && rest[at] == ';';
    if (is_separated) at += 1 + count_blanks(rest.substr(at + 1));
    is_waiting_ = at == rest.size() && !input_.is_last();
    if (at == rest.size() || !is_separated || rest[at] != '{') return false;
    const auto end = input_.position();
    input_.skip(at);
    next_call(end, end + at + 1);
    start_call(false);
    is_between_ = false;
    return true;
  }

  JsonCall call_;
  bool is_between_ = false;              // after a call
  bool is_waiting_ = false;              // for what tells whether another follows
};
}  // namespace

std::unique_ptr<Parser> make_llama3_json() { return std::make_unique<Llama3Json>(); }
}  // namespace corisco::gateway::tool_calls
