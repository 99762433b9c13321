// Messages where a chat template cannot take them, said in a form that it takes: system messages in
// the midst of a conversation, several in front, any at all; and user messages that follow one
// another or a tool's result, where the template wants turns to alternate. Pure.
//
//   [system a, user b, assistant c, system d, user e], later systems not taken:
//     [system a, user b, assistant c, user d, user e]
//   the same where users must alternate with the assistant:
//     [system a, user b, assistant c, user "d\n\ne"]
//   [user b, tool result c, system d], no user taken after a result:  [user b, tool result "c\n\nd"]
//
// Every message stays where it is or goes into the one before it, never over an assistant's message.
// So a conversation that goes on renders as it did, and what was sampled stays its prefix.
#pragma once
#include <string>

#include "corisco/text/chat_template.h"

namespace corisco::gateway {
// What a template takes; what it hoists or leaves out silently, it does not take.
struct TemplateRoles {
  bool takes_system = true;              // in front
  bool takes_leading_systems = true;     // several in front
  bool takes_later_systems = true;       // each where it stands
  bool takes_users_in_a_row = true;
  bool takes_user_after_tool = true;
};
// Found out by rendering small conversations. A template that renders none of them takes everything,
// so that the error of a real rendering is what a client sees.
TemplateRoles roles_of(const text::ChatTemplate& chat_template, bool has_tools);

// A model may have a template of its own for conversations with tools.
struct SystemFolding {
  TemplateRoles without_tools, with_tools;

  explicit SystemFolding(const text::ChatTemplate& chat_template)
      : without_tools(roles_of(chat_template, false)), with_tools(roles_of(chat_template, true)) {}
};

// messages_json: of a ChatRequest, so that contents are texts or null. Comes back as it is where nothing
// needs to be folded.
std::string fold_messages(std::string messages_json, const TemplateRoles& roles);
}  // namespace corisco::gateway
