// A sub-agent's calls are known by what their harness says of them, and trained unless the config leaves them out.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"
#include "gateway/subagent_marks.h"

namespace corisco::gateway {
namespace {
bool is_marked(const std::string& name, const std::string& value) {
  Head head;
  head.fields = {{name, value}};
  return is_from_subagent(head);
}

// Names and values as the agents of docs/harnesses send them.
TEST(SubagentMarks, AreTheHarnessesOwn) {
  EXPECT_FALSE(is_from_subagent(Head{}));
  EXPECT_TRUE(is_marked("x-claude-code-agent-id", "a1b2"));
  EXPECT_TRUE(is_marked("x-parent-session-id", "ses_1"));
  EXPECT_TRUE(is_marked("x-openai-subagent", "review"));
  EXPECT_FALSE(is_marked("x-openai-subagent", "compact")) << "the main agent's own history";
  EXPECT_FALSE(is_marked("x-parent-session-id", ""));
  EXPECT_FALSE(is_marked("x-claude-code-session-id", "s1"));
}

TEST(SubagentMarks, AreInCodexsBodyToo) {
  const auto is_one = [](const char* text) {
    const Json metadata = parse_ordered_json(text);
    return is_from_subagent(&metadata);
  };
  EXPECT_TRUE(is_one(R"({"x-openai-subagent":"collab_spawn"})"));
  for (const char* none : {R"({"x-openai-subagent":"compact"})", R"({"x-openai-subagent":1})", "{}", "[]", "\"x\""})
    EXPECT_FALSE(is_one(none)) << none;
  EXPECT_FALSE(is_from_subagent(nullptr));
}
}  // namespace

namespace fakes {
namespace {
using nlohmann::json;

struct SubagentTest : ServerTest {
  // Of the main agent, a sub-agent of OpenCode and one of Codex: {is_trainable, state} by call.
  std::vector<std::pair<bool, CallState>> calls_of_a_rollout() {
    start();
    const auto key = open_attempt(1);
    EXPECT_EQ(chat(hi(), key).status, 200);
    auto marked = post("/v1/chat/completions", json_text(hi()), key);
    marked.insert(marked.find("Content-Length"), "x-parent-session-id: ses_1\r\n");
    EXPECT_EQ(ask(marked).status, 200);
    const json codex = {{"input", "hi"}, {"client_metadata", {{"x-openai-subagent", "review"}}}};
    EXPECT_EQ(ask(post("/v1/responses", json_text(codex), key)).status, 200);
    return on_io([this] {
      std::vector<std::pair<bool, CallState>> calls;
      for (const auto& call : sink.calls) calls.emplace_back(call.is_trainable, call.state);
      return calls;
    });
  }
};

TEST_F(SubagentTest, IsTrained) {
  const std::vector<std::pair<bool, CallState>> expected(3, {true, CallState::used});
  EXPECT_EQ(calls_of_a_rollout(), expected);
}

TEST_F(SubagentTest, IsServedAndRecordedAloneIfTheConfigSaysSo) {
  config.gateway.train_subagents = false;
  const std::pair<bool, CallState> left_out{false, CallState::side};
  const std::vector<std::pair<bool, CallState>> expected{{true, CallState::used}, left_out, left_out};
  EXPECT_EQ(calls_of_a_rollout(), expected);
}
}  // namespace
}  // namespace fakes
}  // namespace corisco::gateway
