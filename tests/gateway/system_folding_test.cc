// Templates that raise, drop or hoist are found out, and what they cannot take is folded in place; a
// conversation that goes on renders as it did.
#include "gateway/system_folding.h"

#include <gtest/gtest.h>

#include <fstream>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "support/temporary_folder.h"

namespace corisco::gateway {
namespace {
using TemplatePointer = std::shared_ptr<const text::ChatTemplate>;

TemplatePointer template_of(const std::string& source) {
  const support::TemporaryFolder folder;
  std::ofstream(folder / "chat_template.jinja") << source;
  auto loaded = text::ChatTemplate::load(folder.path());
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return loaded.ok() ? loaded.value() : nullptr;
}

constexpr const char* kPrint = "[{{ m.role }}:{{ m.content }}]";
std::string loop(const std::string& body) { return cat("{% for m in messages %}", body, "{% endfor %}"); }

const std::string kAny = loop(kPrint);
// As Qwen3.5: one system message, and in front.
const std::string kFrontOnly = loop(cat("{% if m.role == 'system' and not loop.first %}",
                                        "{{ raise_exception('System message must be at the beginning') }}{% endif %}",
                                        kPrint));
// As Mistral: a system message in front, then user and assistant by turns, not counting calls and results.
const std::string kAlternating = cat(
    "{% set ns = namespace(i=0) %}{% if messages[0].role == 'system' %}[system:{{ messages[0].content }}]",
    "{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}{% for m in rest %}",
    "{% if m.role != 'tool' and not m.tool_calls %}{% if (m.role == 'user') != (ns.i % 2 == 0) %}",
    "{{ raise_exception('roles must alternate') }}{% endif %}{% set ns.i = ns.i + 1 %}{% endif %}",
    kPrint, "{% endfor %}");
// As Gemma 2: no system role, and strict turns.
const std::string kNoSystem = cat(
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}",
    loop(cat("{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}",
             kPrint)));
// As DeepSeek: system messages from anywhere are said in front.
const std::string kHoisting = cat(loop("{% if m.role == 'system' %}[system:{{ m.content }}]{% endif %}"),
                                  loop(cat("{% if m.role != 'system' %}", kPrint, "{% endif %}")));
// As gpt-oss: what comes later is left out.
const std::string kDropping = loop(cat("{% if m.role != 'system' or loop.first %}", kPrint, "{% endif %}"));

// "s a, u b" is a system and a user message; c is an assistant's that calls a tool.
std::string messages_of(const std::string& list) {
  auto messages = nlohmann::ordered_json::array();
  for (const auto& item : split(list, ',')) {
    const auto one = std::string(trim(item));
    const auto content = one.size() > 2 ? one.substr(2) : std::string();
    const char* role = one[0] == 's' ? "system" : one[0] == 'u' ? "user" : one[0] == 't' ? "tool" : "assistant";
    nlohmann::ordered_json message = {{"role", role}, {"content", content}};
    if (one[0] == 'c') message["tool_calls"] = nlohmann::ordered_json::array({{{"id", "a"}, {"type", "function"},
        {"function", {{"name", "f"}, {"arguments", "{}"}}}}});
    messages.push_back(message);
  }
  return json_text(messages);
}

std::string rendered(const text::ChatTemplate& chat_template, const std::string& list) {
  text::ChatInput input;
  input.messages_json = fold_messages(messages_of(list), roles_of(chat_template, false));
  auto text = chat_template.render(input);
  return text.ok() ? text.value() : text.error().message;
}

std::string shown(const std::string& source, const std::string& list) {
  const auto chat_template = template_of(source);
  return chat_template ? rendered(*chat_template, list) : "";
}

TEST(SystemFolding, WhatTemplatesTake) {
  const auto taken = [](const std::string& source) {
    const auto roles = roles_of(*template_of(source), false);
    return cat(roles.takes_system, roles.takes_leading_systems, roles.takes_later_systems,
               roles.takes_users_in_a_row, roles.takes_user_after_tool);
  };
  EXPECT_EQ(taken(kAny), "11111");
  EXPECT_EQ(taken(kFrontOnly), "10011");
  EXPECT_EQ(taken(kAlternating), "10000");
  EXPECT_EQ(taken(kNoSystem), "00001");    // takes no tool's result either
  EXPECT_EQ(taken(kHoisting), "11011");
  EXPECT_EQ(taken(kDropping), "10011");
  EXPECT_EQ(taken("{{ raise_exception('never') }}"), "11111");   // its own error is what a client sees
}

TEST(SystemFolding, WithToolsAnotherTemplateMaySpeak) {
  const auto chat_template = template_of(cat("{% if tools %}", kFrontOnly, "{% else %}", kAny, "{% endif %}"));
  const SystemFolding folding(*chat_template);
  EXPECT_TRUE(folding.without_tools.takes_later_systems);
  EXPECT_FALSE(folding.with_tools.takes_later_systems);
}

TEST(SystemFolding, ALaterSystemMessageIsSaidByTheUser) {
  EXPECT_EQ(shown(kAny, "s a, u b, a c, s d"), "[system:a][user:b][assistant:c][system:d]");
  for (const auto& source : {kFrontOnly, kDropping, kHoisting}) {
    EXPECT_EQ(shown(source, "s a, u b, a c, s d, u e"), "[system:a][user:b][assistant:c][user:d][user:e]");
    EXPECT_EQ(shown(source, "u b, s d"), "[user:b][user:d]");
  }
}

TEST(SystemFolding, SeveralInFrontBecomeOne) {
  EXPECT_EQ(shown(kFrontOnly, "s a, s b, u c"), "[system:a\n\nb][user:c]");
  EXPECT_EQ(shown(kAlternating, "s a, s b, u c"), "[system:a\n\nb][user:c]");
  EXPECT_EQ(shown(kHoisting, "s a, s b, u c"), "[system:a][system:b][user:c]");
}

TEST(SystemFolding, WhereTurnsAlternateItGoesIntoAUserTurn) {
  EXPECT_EQ(shown(kAlternating, "s a, u b, s c"), "[system:a][user:b\n\nc]");
  EXPECT_EQ(shown(kAlternating, "s a, u b, s c, a d, u e"), "[system:a][user:b\n\nc][assistant:d][user:e]");
  EXPECT_EQ(shown(kAlternating, "u b, a c, s d, u e"), "[user:b][assistant:c][user:d\n\ne]");
  EXPECT_EQ(shown(kAlternating, "u b, a c, s d"), "[user:b][assistant:c][user:d]");
  EXPECT_EQ(shown(kAlternating, "u b, u c, a d"), "[user:b\n\nc][assistant:d]");
}

TEST(SystemFolding, AfterAToolsResultItGoesIntoTheResult) {
  EXPECT_EQ(shown(kAlternating, "u b, c, t r, s d"), "[user:b][assistant:][tool:r\n\nd]");
  EXPECT_EQ(shown(kAlternating, "u b, c, t r, u d, a e"), "[user:b][assistant:][tool:r\n\nd][assistant:e]");
  EXPECT_EQ(shown(kFrontOnly, "u b, c, t r, s d"), "[user:b][assistant:][tool:r][user:d]");
}

TEST(SystemFolding, WithoutASystemRoleTheFirstUserSaysIt) {
  EXPECT_EQ(shown(kNoSystem, "s a, u b, a c, s d, u e"), "[user:a\n\nb][assistant:c][user:d\n\ne]");
  EXPECT_EQ(shown(kNoSystem, "s a"), "[user:a]");
  const std::string refuses_only_system =
      loop(cat("{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}", kPrint));
  EXPECT_EQ(shown(refuses_only_system, "s a, s b, u c, u d"), "[user:a\n\nb\n\nc\n\nd]");
  EXPECT_EQ(shown(refuses_only_system, "u c, s d"), "[user:c][user:d]");
}

TEST(SystemFolding, WhatNeedsNoFoldingStaysByteForByte) {
  TemplateRoles front_only;
  front_only.takes_leading_systems = front_only.takes_later_systems = false;
  const std::string odd_numbers =
      R"([{"role":"system","content":"a"},{"role":"user","content":"\"role\":\"system\"","x":1e5}])";
  EXPECT_EQ(fold_messages(odd_numbers, front_only), odd_numbers);
  EXPECT_EQ(fold_messages(messages_of("u a, s b"), {}), messages_of("u a, s b"));
  const std::string others = R"([{"role":"user","content":null},{"name":"n","role":"system","content":"b"}])";
  EXPECT_EQ(fold_messages(others, front_only),
            R"([{"role":"user","content":null},{"name":"n","role":"user","content":"b"}])");
}

// Every conversation of four messages, cut before each of its assistant's messages: what was
// rendered for the earlier request is a prefix of what is rendered for the whole.
TEST(SystemFolding, WhatWasSaidStaysAPrefix) {
  const char* kinds[] = {"s", "u", "a", "t"};
  for (const auto& source : {kAny, kFrontOnly, kAlternating, kNoSystem, kHoisting, kDropping}) {
    const auto roles = roles_of(*template_of(source), false);
    for (int number = 0; number < 4 * 4 * 4 * 4; ++number) {
      std::vector<std::string> items;
      for (int i = 0, rest = number; i < 4; ++i, rest /= 4) items.push_back(cat(kinds[rest % 4], " m", i));
      const auto folded = [&](std::size_t count) {
        const std::vector<std::string> part(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
        const auto text = fold_messages(messages_of(join(part, ",")), roles);
        return text.substr(0, text.size() - 1);       // without the list's end
      };
      for (std::size_t cut = 1; cut < items.size(); ++cut) {
        if (items[cut][0] != 'a') continue;
        EXPECT_TRUE(starts_with(folded(items.size()), folded(cut))) << join(items, ",") << " at " << cut;
      }
    }
  }
}
}  // namespace
}  // namespace corisco::gateway
