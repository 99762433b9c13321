#include "gateway/responses_history.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "corisco/base/json.h"
#include "gateway/reasoning_seal.h"

namespace corisco::gateway {
namespace {
using MaybeError = std::optional<ApiError>;

const Json* member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_of(const Json& object, const char* name) {
  const auto* value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

ApiError lacks(const std::string& where, const char* what) {
  return invalid_request(cat("'", where, "' needs ", what), where);
}

ApiError unsupported(const std::string& where, const char* what) {
  return invalid_request(cat("'", where, "' is ", what, "; this model takes text only"), where, "unsupported_content");
}

MaybeError read_part(const Json& part, const std::string& where, std::vector<std::string>& texts) {
  const auto type = part.is_object() ? text_of(part, "type") : std::string();
  if (type.empty()) return lacks(where, "a type");
  if (type == "input_image" || type == "image_url") return unsupported(where, "an image");
  if (type == "input_file" || type == "file") return unsupported(where, "a file");
  if (type == "input_audio" || type == "output_audio") return unsupported(where, "audio");
  const bool is_text = type == "refusal" || type == "text" || ends_with(type, "_text");
  if (!is_text) return unsupported(where, "a part of a type that is not known here");
  const auto* text = member(part, type == "refusal" ? "refusal" : "text");
  if (text == nullptr || !text->is_string()) return lacks(where, "its text");
  texts.push_back(text->get<std::string>());
  return std::nullopt;
}

// A text, or parts of text, which become its lines as those of a chat completion do.
MaybeError read_text(const Json* content, const std::string& where, std::string& text) {
  if (content == nullptr) return std::nullopt;
  if (content->is_string()) {
    text = content->get<std::string>();
    return std::nullopt;
  }
  if (!content->is_array()) return lacks(where, "to be a string or a list of parts");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < content->size(); ++i)
    if (auto error = read_part((*content)[i], cat(where, "[", i, "]"), texts)) return error;
  text = join(texts, "\n");
  return std::nullopt;
}

// Empty if the id is not one of ours.
std::string reply_of(const Json& item) {
  const auto id = text_of(item, "id");
  const auto begin = id.find('_');
  const auto end = id.rfind('_');
  if (begin == end || end - begin != 17) return {};
  auto reply = id.substr(begin + 1, 16);
  return reply.find_first_not_of("0123456789abcdef") == std::string::npos ? reply : std::string();
}

// Builds the messages item by item.
class Conversation {
 public:
  Conversation(const ResponsesTools& tools, Json& native) : tools_(tools), native_(native) {}
  MaybeError add(const Json& item, const std::string& where);

 private:
  MaybeError add_message(const Json& item, const std::string& where);
  MaybeError add_reasoning(const Json& item, const std::string& where);
  MaybeError add_call(const Json& item, const std::string& type, const std::string& where);
  MaybeError add_output(const Json& item, const std::string& type, const std::string& where);
  Json& open_turn(const Json& item);
  Json& begin_turn(const Json& item);

  const ResponsesTools& tools_;
  Json& native_;
  bool has_turn_ = false;                // an assistant message that later items may belong to
  std::size_t turn_ = 0;                 // its index
  std::string turn_reply_;               // whose it is; empty: unknown
};

Json& Conversation::begin_turn(const Json& item) {
  has_turn_ = true;
  turn_ = native_.size();
  turn_reply_ = reply_of(item);
  native_.push_back({{"role", "assistant"}, {"content", ""}});
  return native_.back();
}

// The assistant message that the item is part of: the last one unless ids speak against it, or, behind
// outputs of its calls, only if they speak for it.
Json& Conversation::open_turn(const Json& item) {
  if (!has_turn_) return begin_turn(item);
  const auto reply = reply_of(item);
  const bool is_next = turn_ + 1 == native_.size();
  const bool is_same = reply == turn_reply_ && !reply.empty();
  const bool may_be_same = is_next && (reply.empty() || turn_reply_.empty());
  if (!is_same && !may_be_same) return begin_turn(item);
  if (turn_reply_.empty()) turn_reply_ = reply;
  return native_[turn_];
}

MaybeError Conversation::add_message(const Json& item, const std::string& where) {
  const auto role = text_of(item, "role");
  std::string text;
  if (auto error = read_text(member(item, "content"), cat(where, ".content"), text)) return error;
  if (role == "assistant") {
    auto& content = open_turn(item)["content"];
    content = content.get<std::string>() + text;
    return std::nullopt;
  }
  if (role != "user" && role != "system" && role != "developer")
    return lacks(cat(where, ".role"), "to be user, assistant, system or developer");
  has_turn_ = false;
  native_.push_back({{"role", role == "user" ? "user" : "system"}, {"content", text}});
  return std::nullopt;
}

MaybeError Conversation::add_reasoning(const Json& item, const std::string& where) {
  std::string text;
  if (auto error = read_text(member(item, "content"), cat(where, ".content"), text)) return error;
  if (text.empty()) text = unsealed_reasoning(text_of(item, "encrypted_content"));
  if (text.empty())
    if (auto error = read_text(member(item, "summary"), cat(where, ".summary"), text)) return error;
  auto* message = &open_turn(item);
  // A reply thinks before it speaks: this one is another's.
  if (!(*message)["content"].get_ref<const std::string&>().empty() || message->contains("tool_calls"))
    message = &begin_turn(item);
  if (!text.empty()) (*message)["reasoning_content"] = text_of(*message, "reasoning_content") + text;
  return std::nullopt;
}

std::string as_text(const Json* value) {
  if (value == nullptr) return {};
  return value->is_string() ? value->get<std::string>() : json_text(*value);
}

MaybeError Conversation::add_call(const Json& item, const std::string& type, const std::string& where) {
  auto id = text_of(item, "call_id");
  if (id.empty() && type == "local_shell_call") id = text_of(item, "id");
  const auto name = text_of(item, "name");
  const auto form = type == "function_call"      ? ToolForm::function
                    : type == "custom_tool_call" ? ToolForm::custom
                    : type == "local_shell_call" ? ToolForm::local_shell
                    : type == "shell_call"       ? ToolForm::shell
                                                 : ToolForm::apply_patch;
  const bool is_named = form == ToolForm::function || form == ToolForm::custom;
  if (id.empty() || (is_named && name.empty())) return lacks(where, is_named ? "a call_id and a name" : "a call_id");
  std::string arguments;
  if (form == ToolForm::function) {
    arguments = as_text(member(item, "arguments"));
  } else if (form == ToolForm::custom) {
    arguments = arguments_of_input(text_of(item, "input"));
  } else {
    const auto* action = member(item, form == ToolForm::apply_patch ? "operation" : "action");
    if (action == nullptr || !action->is_object()) return lacks(where, "what is to be done, as an object");
    arguments = arguments_of_action(*action);
  }
  auto& calls = open_turn(item)["tool_calls"];
  const auto native_name = tools_.native_name(form, name, text_of(item, "namespace"));
  calls.push_back({{"id", id},
                   {"type", "function"},
                   {"function", {{"name", native_name}, {"arguments", arguments.empty() ? "{}" : arguments}}}});
  return std::nullopt;
}

MaybeError Conversation::add_output(const Json& item, const std::string& type, const std::string& where) {
  auto id = text_of(item, "call_id");
  if (id.empty() && type == "local_shell_call_output") id = text_of(item, "id");
  if (id.empty()) return lacks(where, "the call_id that it answers");
  const auto* output = member(item, "output");
  std::string text;
  if (type == "shell_call_output") {
    text = as_text(output);              // a list of what each command wrote, and how it ended
  } else if (auto error = read_text(output, cat(where, ".output"), text)) {
    return error;
  }
  if (type == "apply_patch_call_output" && text.empty()) text = text_of(item, "status");
  native_.push_back({{"role", "tool"}, {"content", text}, {"tool_call_id", id}});
  return std::nullopt;
}

bool is_one_of(const std::string& type, std::initializer_list<const char*> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

MaybeError Conversation::add(const Json& item, const std::string& where) {
  if (!item.is_object()) return lacks(where, "to be an object");
  const auto type = text_of(item, "type");
  if (type == "message" || (type.empty() && item.contains("role"))) return add_message(item, where);
  if (type == "reasoning") return add_reasoning(item, where);
  if (is_one_of(type, {"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call"}))
    return add_call(item, type, where);
  if (is_one_of(type, {"function_call_output", "custom_tool_call_output", "local_shell_call_output",
                       "shell_call_output", "apply_patch_call_output"}))
    return add_output(item, type, where);
  // What OpenAI's own servers did, or offered, in between.
  if (is_one_of(type, {"web_search_call", "mcp_list_tools", "compaction_trigger"})) return std::nullopt;
  if (!referenced_item(item).empty()) return std::nullopt;
  if (type.empty()) return lacks(where, "a type");
  return unsupported(where, "an item of a type that is not known here");
}
}  // namespace

OrApiError<Json> native_conversation(const std::string& instructions, const Json& items, const ResponsesTools& tools) {
  Json native = Json::array();
  if (!instructions.empty()) native.push_back({{"role", "system"}, {"content", instructions}});
  Conversation conversation(tools, native);
  for (std::size_t i = 0; i < items.size(); ++i)
    if (auto error = conversation.add(items[i], cat("input[", i, "]"))) return std::move(*error);
  return native;
}

std::string referenced_item(const Json& item) {
  if (!item.is_object() || item.contains("role")) return {};
  const auto type = text_of(item, "type");
  return type.empty() || type == "item_reference" ? text_of(item, "id") : std::string();
}

std::string item_id(const char* prefix, const std::string& reply_id, std::size_t index) {
  return cat(prefix, "_", reply_id, "_", index);
}
}  // namespace corisco::gateway
