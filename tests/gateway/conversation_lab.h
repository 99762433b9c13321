// An attempt's conversation without a server: requests are rendered, looked up in the tree and answered
// with given replies, one after another.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "corisco/base/random.h"
#include "gateway/agent_templates.h"
#include "gateway/fakes.h"
#include "gateway/shared_prompt.h"
#include "gateway/split_cause.h"
#include "gateway/turn_answers.h"

namespace corisco::gateway::fakes {
using Json = nlohmann::ordered_json;

struct Asked {
  std::string rendering;
  CallTree::Match match;
  SplitCause split = SplitCause::none;
  Differences differences;               // noticed now
  std::vector<TokenId> ids;              // of the prompt
  SharedPrompt shared;
  std::string turn_beginning;
  std::uint64_t tools_hash = 0, kwargs_hash = 0;
};

struct Answer {
  bool is_ended = true;                  // by the end token; else cut by its length
  bool is_cut = false;                   // by a stop string
  std::vector<std::string> tool_call_ids{};
  std::string end = "<|end|>";           // the end token's text
};

class Lab {
 public:
  AgentTemplate chat_template;
  std::shared_ptr<const text::ChatTemplate> jinja;   // in its place, if there is one
  std::vector<std::string> end_texts{"<|end|>"};
  std::string turn_goes_on;              // after an end that is none
  ReplySyntax syntax{"hermes", true};
  TurnRules rules;
  CallTree tree;
  std::string tools_json, kwargs_json;

  Asked ask(const Json& messages) {
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
  CallId reply(Asked& asked, const std::string& text, Answer how = Answer()) {
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
  // The whole of it: a request that is answered.
  CallId turn(const Json& messages, const std::string& text, Answer how = Answer()) {
    auto asked = ask(messages);
    return reply(asked, text, std::move(how));
  }
  static std::vector<TokenId> encode(const std::string& text) { return ByteTokenizer().encode(text, true).value(); }

 private:
  void look_up(Asked& asked, const std::string& messages_json) {
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
  void share_it(Asked& asked, const std::string& messages_json) {
    const auto tail = asked.rendering.substr(asked.match.text_bytes);
    asked.ids = asked.match.ids.items();
    for (const auto id : encode(tail)) asked.ids.push_back(id);
    const auto stem = stem_bytes(tail, syntax);
    asked.turn_beginning = tail.substr(stem);
    const bool goes_on = asked.match.node != nullptr;
    const auto earlier = goes_on ? std::vector{tree.earlier(*asked.match.node)} : tree.newest(4, nullptr);
    asked.shared = share({asked.ids, messages_json, messages_json, tail.substr(0, stem)}, earlier, goes_on);
  }
  std::uint64_t next_call_ = 1;
};

inline Json message(const std::string& role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}
// An assistant's message with one call.
inline Json call_message(const Json& content, const std::string& name, const Json& arguments,
                         const std::string& id = "call_1") {
  Json call = {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
  return {{"role", "assistant"}, {"content", content}, {"tool_calls", Json::array({std::move(call)})}};
}
}  // namespace corisco::gateway::fakes
