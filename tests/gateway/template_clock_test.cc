// A chat template that prints the date sees one moment all through an attempt, so that midnight splits nothing.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;

// Says when it is, as templates do that call strftime_now.
class ClockTemplate final : public text::ChatTemplate {
 public:
  Result<std::string> render(const text::ChatInput& input) const override {
    auto rendered = plain_.render(input);
    if (!rendered.ok()) return rendered;
    return cat("[", static_cast<std::int64_t>(input.now_unix_seconds), "]", rendered.value());
  }

 private:
  PlainTemplate plain_;
};

struct TemplateClockTest : ServerTest {
  TemplateClockTest() { chat_template = std::make_shared<ClockTemplate>(); }
  // "1700000000", of the prompt that the engine was given.
  std::string moment_of(std::size_t request) {
    const auto ids = on_io([this, request] { return generator.requests.at(request).prompt_ids; });
    const auto text = tokenizer->decode(ids, true);
    return text.substr(1, text.find(']') - 1);
  }
};

TEST_F(TemplateClockTest, IsTheMomentAtWhichTheAttemptWasOpened) {
  start();
  const auto key = open_attempt(1);      // opened at 1.7e9, long ago
  EXPECT_EQ(chat(hi(), key).status, 200);
  const json messages = {{{"role", "user"}, {"content", "hi"}},
                         {{"role", "assistant"}, {"content", generator.reply}},
                         {{"role", "user"}, {"content", "more"}}};
  EXPECT_EQ(chat({{"messages", messages}}, key).status, 200);
  EXPECT_EQ(moment_of(0), "1700000000");
  EXPECT_EQ(moment_of(1), "1700000000");
  EXPECT_EQ(on_io([this] { return sink.calls.at(1).split; }), SplitCause::none);
}

TEST_F(TemplateClockTest, OutsideAnyRolloutIsNow) {
  start();
  const auto before = real_clock().unix_seconds();
  EXPECT_EQ(chat(hi()).status, 200);
  EXPECT_GE(std::stod(moment_of(0)) + 1, before);
}
}  // namespace
}  // namespace corisco::gateway::fakes
