// The head of a message as gpt-oss writes it. Pure.
#pragma once
#include <optional>
#include <string_view>

namespace corisco::gateway::tool_calls {
//   assistant to=functions.ls<|channel|>commentary json       role assistant, channel commentary, recipient
//   assistant<|channel|>commentary to=functions.ls <|constrain|>json                     functions.ls
struct HarmonyHeader {
  std::string_view role, channel, recipient;
  // The tool's name; none if the message is to nobody, the user or the model itself.
  std::optional<std::string_view> tool() const;
};
// What stands between <|start|> and <|message|>.
HarmonyHeader read_harmony_header(std::string_view text);
}  // namespace corisco::gateway::tool_calls
