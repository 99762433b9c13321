#include "gateway/conversation_lab.h"

namespace corisco::gateway::fakes {
Asked Lab::ask(const Json& messages) {
  text::ChatInput input;
  input.messages_json = json_text(messages);
  input.tools_json = tools_json;
  input.kwargs_json = kwargs_json;
  Asked asked;
  asked.rendering = (jinja ? *jinja : chat_template).render(input).value();
  asked.tools_hash = hash_text(tools_json);
  asked.kwargs_hash = hash_text(kwargs_json);
  look_up(asked, input.messages_json);
  share_it(asked, input.messages_json);
  return asked;
}

CallId Lab::reply(Asked& asked, const std::string& text, Answer how) {
  CallTree::Added added;
  added.match = asked.match;
  added.stem = asked.shared.stem;
  added.turn_beginning = asked.turn_beginning;
  added.reply = text + (how.is_ended ? how.end : "");
  added.reply_end = how.is_ended ? how.end : "";
  added.is_cut = how.is_cut;
  added.tool_call_ids = std::move(how.tool_call_ids);
  added.split = asked.split;
  auto& call = added.call;
  call.call = CallId{next_call_++};
  call.ids = SharedPrefix<TokenId>::extend(asked.shared.ids, asked.ids.size(), encode(added.reply));
  call.request = asked.shared.request;
  call.messages = asked.shared.messages;
  call.tools_hash = asked.tools_hash;
  call.kwargs_hash = asked.kwargs_hash;
  const auto id = call.call;
  tree.add(std::move(added));
  asked.shared.note_recorded(id);
  return id;
}

CallId Lab::turn(const Json& messages, const std::string& text, Answer how) {
  auto asked = ask(messages);
  return reply(asked, text, std::move(how));
}

void Lab::look_up(Asked& asked, const std::string& messages_json) {
  CallTree::Search search;
  search.rendering = asked.rendering;
  search.messages_json = messages_json;
  search.end_texts = &end_texts;
  search.goes_on = turn_goes_on;
  auto found = tree.find(search);
  const ReplyReader reader(syntax, tools_json);
  while (!found.questions.empty()) {
    const auto answers = compare_turns(reader, found.questions);
    for (const auto& one : take_answers(tree, search, found.questions, answers, rules)) asked.differences = one;
    found = tree.find(search);
  }
  asked.match = found.match;
  const auto known = cause_of_found(tree, found, false);
  const Conversation conversation{messages_json, asked.tools_hash, asked.kwargs_hash, asked.match.node != nullptr};
  asked.split = known ? *known : split_cause(conversation, tree.newest(8, asked.match.node), reader);
}

void Lab::share_it(Asked& asked, const std::string& messages_json) {
  const auto tail = asked.rendering.substr(asked.match.text_bytes);
  asked.ids = asked.match.ids.items();
  for (const auto id : encode(tail)) asked.ids.push_back(id);
  const auto stem = stem_bytes(tail, syntax);
  asked.turn_beginning = tail.substr(stem);
  const bool goes_on = asked.match.node != nullptr;
  const auto earlier = goes_on ? std::vector{tree.earlier(*asked.match.node)} : tree.newest(4, nullptr);
  asked.shared = share({asked.ids, messages_json, messages_json, tail.substr(0, stem)}, earlier, goes_on);
}

Json message(const std::string& role, const std::string& content) { return {{"role", role}, {"content", content}}; }

Json call_message(const Json& content, const std::string& name, const Json& arguments, const std::string& id) {
  Json call = {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
  return {{"role", "assistant"}, {"content", content}, {"tool_calls", Json::array({std::move(call)})}};
}
}  // namespace corisco::gateway::fakes
