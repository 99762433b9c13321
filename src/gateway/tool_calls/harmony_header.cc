#include "gateway/tool_calls/harmony_header.h"

#include "corisco/base/strings.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr std::string_view kChannel = "<|channel|>", kRecipient = "to=", kNamespace = "functions.";

// Up to a blank or a marker.
std::string_view word_at(std::string_view text, std::size_t begin) {
  const auto rest = text.substr(begin);
  return rest.substr(0, rest.find_first_of(" \n\t\r<"));
}

// "to=" at the start of a word.
std::string_view recipient_in(std::string_view text) {
  for (auto at = text.find(kRecipient); at != std::string_view::npos; at = text.find(kRecipient, at + 1)) {
    const bool is_word_start = at == 0 || text[at - 1] == ' ' || text[at - 1] == '>';
    if (is_word_start) return word_at(text, at + kRecipient.size());
  }
  return {};
}
}  // namespace

std::optional<std::string_view> HarmonyHeader::tool() const {
  const bool is_nobody = recipient.empty() || recipient == "user" || recipient == "assistant" || recipient == "all";
  if (is_nobody) return std::nullopt;
  const bool is_function = starts_with(recipient, kNamespace) && recipient.size() > kNamespace.size();
  return is_function ? recipient.substr(kNamespace.size()) : recipient;
}

HarmonyHeader read_harmony_header(std::string_view text) {
  HarmonyHeader header;
  if (!starts_with(text, kRecipient)) header.role = word_at(text, 0);
  if (const auto at = text.find(kChannel); at != std::string_view::npos)
    header.channel = word_at(text, at + kChannel.size());
  header.recipient = recipient_in(text);
  return header;
}
}  // namespace corisco::gateway::tool_calls
