// A model's chat template, rendered as transformers renders it. Immutable; any thread.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "corisco/base/result.h"

namespace corisco::text {
// How messages reach the template: null content is "", tool arguments given as JSON text become
// objects, text parts become lines of one text (both only if the template reads them so, which is
// found out at load by rendering small conversations), and reasoning, thinking or reasoning_content
// is seen under the last name.
struct ChatInput {
  std::string messages_json;           // an array of messages as the OpenAI API has them
  std::string tools_json;              // an array, or empty for none
  std::string kwargs_json;             // further template variables, an object, or empty; none of
                                       // messages, tools, add_generation_prompt and the like
  bool add_generation_prompt = true;
  double now_unix_seconds = 0;         // the clock that strftime_now sees; frozen per rollout
};

class ChatTemplate {
 public:
  // From chat_template.jinja or tokenizer_config.json of a model folder. A template named tool_use
  // serves conversations with tools. not_found if the folder has none.
  static Result<std::shared_ptr<const ChatTemplate>> load(const std::string& model_folder);
  virtual ~ChatTemplate() = default;
  // invalid_argument with the template's own words if it raises.
  virtual Result<std::string> render(const ChatInput& input) const = 0;
  // Jinja, of the template for conversations with tools: shows how the model writes calls.
  virtual std::string_view source() const { return {}; }
};
}  // namespace corisco::text
