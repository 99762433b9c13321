#include "gateway/responses_output.h"

#include <utility>

#include "corisco/base/json.h"
#include "gateway/openai_reply_parts.h"
#include "gateway/reasoning_seal.h"
#include "gateway/responses_history.h"

namespace corisco::gateway {
namespace {
using Kind = tool_calls::Event::Kind;

Json text_part(const std::string& text, const Json& logprobs = Json::array()) {
  return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", logprobs}};
}
}  // namespace

void ResponsesEvents::add(Json event) {
  event["sequence_number"] = next_number_++;
  text_ += cat("event: ", event["type"].get_ref<const std::string&>(), "\ndata: ", json_text(event), "\n\n");
}

void ResponsesOutput::add_tokens(const std::vector<SampledToken>& tokens,
                                 const std::vector<std::vector<TopLogprob>>& tops) {
  if (!shown_.tokenizer) return;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    untold_.emplace_back(tokens[i], i < tops.size() ? tops[i] : std::vector<TopLogprob>());
}

Json ResponsesOutput::take_logprobs(std::size_t num_tokens) {
  Json logprobs = Json::array();
  for (; num_tokens > 0 && !untold_.empty(); --num_tokens) {
    const auto& [token, tops] = untold_.front();
    logprobs.push_back(logprob_json(*shown_.tokenizer, token, tops, shown_.num_tops));
    untold_.pop_front();
  }
  return logprobs;
}

void ResponsesOutput::add(const ReplyPart& part) {
  auto logprobs = take_logprobs(part.num_tokens);
  switch (part.kind) {
    case Kind::text:
      if (part.is_broken) return;        // of a call that has been shown as far as it came
      if (open_ != Open::message) open_message();
      logprobs_.insert(logprobs_.end(), logprobs.begin(), logprobs.end());
      add_text("response.output_text.delta", part.text, std::move(logprobs));
      return;
    case Kind::reasoning:
      if (open_ != Open::reasoning) open_reasoning();
      add_text("response.reasoning_text.delta", part.text);
      return;
    case Kind::call_begin: open_call(part); return;
    case Kind::arguments:
      if (form_ == ToolForm::function) add_text("response.function_call_arguments.delta", part.text);
      else text_ += part.text;
      return;
    case Kind::call_end: close(!part.is_broken); return;
    case Kind::parse_error: return;
  }
}

// An empty reply has an item too: simple clients look at the first one unasked.
void ResponsesOutput::end(bool is_cut) {
  if (open_ == Open::nothing && items_.empty()) open_message();
  close(!is_cut);
}

void ResponsesOutput::open(Open what, const char* id_prefix, Json item) {
  close(true);
  open_ = what;
  text_.clear();
  item_ = {{"id", item_id(id_prefix, reply_id_, items_.size())}};
  item_.update(item);
}

void ResponsesOutput::announce() {
  tell({{"type", "response.output_item.added"}, {"output_index", items_.size()}, {"item", item_}});
}

Json ResponsesOutput::event_of_item(const char* type) const {
  return {{"type", type}, {"item_id", item_["id"]}, {"output_index", items_.size()}};
}

void ResponsesOutput::add_text(const char* event, const std::string& text, Json logprobs) {
  text_ += text;
  if (events_ == nullptr) return;
  auto delta = event_of_item(event);
  if (open_ != Open::call) delta["content_index"] = 0;
  delta["delta"] = text;
  if (open_ == Open::message) delta["logprobs"] = std::move(logprobs);
  tell(std::move(delta));
}

void ResponsesOutput::open_message() {
  open(Open::message, "msg",
       {{"type", "message"}, {"status", "in_progress"}, {"role", "assistant"}, {"content", Json::array()}});
  announce();
  auto begun = event_of_item("response.content_part.added");
  begun["content_index"] = 0;
  begun["part"] = text_part("");
  tell(std::move(begun));
}

void ResponsesOutput::open_reasoning() {
  open(Open::reasoning, "rs", {{"type", "reasoning"}, {"summary", Json::array()}, {"content", Json::array()}});
  announce();
}

void ResponsesOutput::open_call(const ReplyPart& part) {
  const auto* tool = turn_->tools.find(part.text);
  form_ = tool == nullptr ? ToolForm::function : tool->form;
  call_id_ = part.call_id;
  call_name_ = part.text;
  const auto name = tool == nullptr ? part.text : tool->name;
  const auto name_space = tool == nullptr ? std::string() : tool->name_space;
  if (form_ == ToolForm::function) {
    open_function_call(name, name_space);
  } else if (form_ == ToolForm::custom) {
    open(Open::call, "ctc", {{"type", "custom_tool_call"}, {"status", "in_progress"}, {"call_id", call_id_},
                             {"name", name}, {"input", ""}});
    if (!name_space.empty()) item_["namespace"] = name_space;
    announce();
  } else {
    open(Open::call, "sh", Json::object());
  }
}

void ResponsesOutput::open_function_call(const std::string& name, const std::string& name_space) {
  open(Open::call, "fc", {{"type", "function_call"}, {"status", "in_progress"}, {"call_id", call_id_}, {"name", name},
                          {"arguments", ""}});
  if (!name_space.empty()) item_["namespace"] = name_space;
  announce();
}

void ResponsesOutput::close(bool is_whole) {
  const auto what = std::exchange(open_, Open::nothing);
  if (what == Open::nothing) return;
  if (what == Open::message) close_message();
  else if (what == Open::reasoning) close_reasoning();
  else if (form_ == ToolForm::function) close_function_call();
  else if (form_ == ToolForm::custom) close_custom_call();
  else close_action_call();
  if (what != Open::reasoning) item_["status"] = is_whole ? "completed" : "incomplete";
  tell({{"type", "response.output_item.done"}, {"output_index", items_.size()}, {"item", item_}});
  items_.push_back(std::exchange(item_, {}));
}

void ResponsesOutput::close_message() {
  const auto part = text_part(text_, logprobs_);
  auto text_done = event_of_item("response.output_text.done");
  text_done["content_index"] = 0;
  text_done["text"] = text_;
  text_done["logprobs"] = std::exchange(logprobs_, Json::array());
  tell(std::move(text_done));
  auto part_done = event_of_item("response.content_part.done");
  part_done["content_index"] = 0;
  part_done["part"] = part;
  tell(std::move(part_done));
  item_["content"].push_back(part);
}

void ResponsesOutput::close_reasoning() {
  auto done = event_of_item("response.reasoning_text.done");
  done["content_index"] = 0;
  done["text"] = text_;
  tell(std::move(done));
  item_["content"].push_back({{"type", "reasoning_text"}, {"text", text_}});
  if (turn_->seals_reasoning) item_["encrypted_content"] = sealed_reasoning(text_);
}

void ResponsesOutput::close_function_call() {
  auto done = event_of_item("response.function_call_arguments.done");
  done["name"] = item_["name"];
  done["arguments"] = text_;
  tell(std::move(done));
  item_["arguments"] = text_;
}

void ResponsesOutput::close_custom_call() {
  const auto input = input_of_arguments(text_);
  if (!input.empty()) {
    auto delta = event_of_item("response.custom_tool_call_input.delta");
    delta["delta"] = input;
    tell(std::move(delta));
  }
  auto done = event_of_item("response.custom_tool_call_input.done");
  done["input"] = input;
  tell(std::move(done));
  item_["input"] = input;
}

void ResponsesOutput::close_action_call() {
  auto action = action_of_arguments(form_, text_);
  if (!action) {                         // the model wrote something else: who runs it can say so
    const auto arguments = text_;
    open_function_call(call_name_, {});
    if (!arguments.empty()) add_text("response.function_call_arguments.delta", arguments);
    open_ = Open::nothing;
    close_function_call();
    return;
  }
  item_["type"] = form_ == ToolForm::local_shell ? "local_shell_call"
                  : form_ == ToolForm::shell     ? "shell_call"
                                                 : "apply_patch_call";
  item_["status"] = "in_progress";
  item_["call_id"] = call_id_;
  item_[form_ == ToolForm::apply_patch ? "operation" : "action"] = std::move(*action);
  announce();
}
}  // namespace corisco::gateway
