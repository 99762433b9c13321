// Hermes, Qwen2.5, Qwen3:  <tool_call>\n{"name": ..., "arguments": {...}}\n</tool_call>
// A call whose JSON is whole at the reply's end needs no </tool_call>, as in vLLM.
#include "gateway/tool_calls/families.h"
#include "gateway/tool_calls/json_call.h"

namespace corisco::gateway::tool_calls {
namespace {
class Hermes final : public CallParser {
 public:
  Hermes() : CallParser({{"<tool_call>"}}) {}

 private:
  void open(std::size_t) override {
    call_ = JsonCall();
    is_whole_ = false;
  }
  Step read() override {
    if (!is_whole_) {
      const auto step = call_.read(input_, out_);
      if (step == Step::broken) return fail(call_.problem());
      if (step == Step::more) return step;
      is_whole_ = true;
    }
    return read_end({"</tool_call>"});
  }

  JsonCall call_;
  bool is_whole_ = false;                // only the end marker may follow
};
}  // namespace

std::unique_ptr<Parser> make_hermes() { return std::make_unique<Hermes>(); }
}  // namespace corisco::gateway::tool_calls
