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

  Asked ask(const Json& messages);
  CallId reply(Asked& asked, const std::string& text, Answer how = Answer());
  // The whole of it: a request that is answered.
  CallId turn(const Json& messages, const std::string& text, Answer how = Answer());
  static std::vector<TokenId> encode(const std::string& text) { return ByteTokenizer().encode(text, true).value(); }

 private:
  void look_up(Asked& asked, const std::string& messages_json);
  void share_it(Asked& asked, const std::string& messages_json);
  std::uint64_t next_call_ = 1;
};

Json message(const std::string& role, const std::string& content);
// An assistant's message with one call.
Json call_message(const Json& content, const std::string& name, const Json& arguments,
                  const std::string& id = "call_1");
}  // namespace corisco::gateway::fakes
