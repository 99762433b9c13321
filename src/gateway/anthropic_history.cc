#include "gateway/anthropic_history.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "corisco/base/json.h"

namespace corisco::gateway {
namespace {
using MaybeError = std::optional<ApiError>;
using Texts = std::vector<std::string>;

// A member that must be a string; empty if it is none.
std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool has_text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string();
}

const Json& content_of(const Json& object) {
  static const Json none;
  const auto found = object.find("content");
  return found == object.end() ? none : *found;
}

ApiError lacks(const std::string& where, const char* what) {
  return invalid_request(cat("'", where, "' needs ", what), where);
}

ApiError unsupported_block(const std::string& where, const std::string& type) {
  const char* what = type == "image"      ? "an image"
                     : type == "document" ? "a document"
                                          : "a block of a type that is not known here";
  return invalid_request(cat("'", where, "' is ", what, "; this model takes text only"), where,
                         "unsupported_content");
}

// Calls take(block, its type, where it is) for each block, until one is refused.
template <class Take>
MaybeError for_each_block(const Json& content, const std::string& where, const Take& take) {
  if (!content.is_array()) return lacks(where, "to be a string or a list of blocks");
  for (std::size_t i = 0; i < content.size(); ++i) {
    const auto at = cat(where, "[", i, "]");
    if (!content[i].is_object() || !has_text(content[i], "type")) return lacks(at, "a type");
    if (MaybeError error = take(content[i], text_of(content[i], "type"), at)) return error;
  }
  return std::nullopt;
}

MaybeError take_text(const Json& block, const char* name, const std::string& where, Texts& texts) {
  if (!has_text(block, name)) return lacks(where, "its text");
  texts.push_back(text_of(block, name));
  return std::nullopt;
}

// Of a block that can be nothing but text.
MaybeError take_text_block(const Json& block, const std::string& type, const std::string& where, Texts& texts) {
  if (type == "text") return take_text(block, "text", where, texts);
  // A tool that a search has found; all of them are in the prompt anyway.
  if (type == "tool_reference") return take_text(block, "tool_name", where, texts);
  return unsupported_block(where, type);
}

// Of content that can be nothing but text.
MaybeError read_texts(const Json& content, const std::string& where, Texts& texts) {
  if (content.is_null()) return std::nullopt;
  if (content.is_string()) {
    texts.push_back(content.get<std::string>());
    return std::nullopt;
  }
  return for_each_block(content, where, [&](const Json& block, const std::string& type, const std::string& at) {
    return take_text_block(block, type, at, texts);
  });
}

Json message_of(const char* role, const Texts& texts) {
  return {{"role", role}, {"content", join(texts, "\n")}};
}

// Claude Code begins its system prompt with a line that says who is billed. It may differ between
// the requests of one conversation, and would then break every continuation.
void leave_out_billing_line(Texts& texts) {
  if (texts.empty() || !starts_with(texts.front(), "x-anthropic-billing-header:")) return;
  const auto end = texts.front().find('\n');
  texts.front().erase(0, end == std::string::npos ? end : end + 1);
  if (texts.front().empty()) texts.erase(texts.begin());
}

MaybeError add_system(const Json& content, const std::string& where, Json& native) {
  Texts texts;
  if (auto error = read_texts(content, where, texts)) return error;
  leave_out_billing_line(texts);
  const bool says_something = std::any_of(texts.begin(), texts.end(), [](const auto& text) { return !text.empty(); });
  if (says_something) native.push_back(message_of("system", texts));
  return std::nullopt;
}

MaybeError add_tool_result(const Json& block, const std::string& where, Json& native) {
  if (!has_text(block, "tool_use_id")) return lacks(where, "the tool_use_id that it answers");
  Texts texts;
  if (auto error = read_texts(content_of(block), cat(where, ".content"), texts)) return error;
  auto message = message_of("tool", texts);
  message["tool_call_id"] = text_of(block, "tool_use_id");
  native.push_back(std::move(message));
  return std::nullopt;
}

// Results and texts stay in their order, so that what was sent before is always a prefix.
MaybeError add_user(const Json& content, const std::string& where, Json& native) {
  const auto size_before = native.size();
  Texts texts;
  const auto add_text = [&] {
    if (!texts.empty()) native.push_back(message_of("user", std::exchange(texts, {})));
  };
  const auto take = [&](const Json& block, const std::string& type, const std::string& at) {
    if (type != "tool_result") return take_text_block(block, type, at, texts);
    add_text();
    return add_tool_result(block, at, native);
  };
  auto error = content.is_array() ? for_each_block(content, where, take) : read_texts(content, where, texts);
  if (error) return error;
  add_text();
  if (native.size() == size_before) native.push_back(message_of("user", {}));
  return std::nullopt;
}

MaybeError add_tool_use(const Json& block, const std::string& where, Json& calls) {
  if (!has_text(block, "id") || !has_text(block, "name")) return lacks(where, "an id and a name");
  const auto input = block.find("input");
  const std::string arguments = input == block.end() || input->is_null() ? "{}" : json_text(*input);
  calls.push_back({{"id", text_of(block, "id")},
                   {"type", "function"},
                   {"function", {{"name", text_of(block, "name")}, {"arguments", arguments}}}});
  return std::nullopt;
}

MaybeError add_assistant(const Json& content, const std::string& where, Json& native) {
  Texts texts, thoughts;
  Json calls = Json::array();
  const auto take = [&](const Json& block, const std::string& type, const std::string& at) -> MaybeError {
    if (type == "thinking") return take_text(block, "thinking", at, thoughts);
    if (type == "redacted_thinking") return std::nullopt;   // unreadable, and never ours
    if (type == "tool_use") return add_tool_use(block, at, calls);
    return take_text_block(block, type, at, texts);
  };
  auto error = content.is_array() ? for_each_block(content, where, take) : read_texts(content, where, texts);
  if (error) return error;
  auto message = message_of("assistant", texts);
  if (auto reasoning = join(thoughts, "\n"); !reasoning.empty()) message["reasoning_content"] = std::move(reasoning);
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  native.push_back(std::move(message));
  return std::nullopt;
}

MaybeError add_message(const Json& message, const std::string& where, Json& native) {
  if (!message.is_object()) return lacks(where, "to be an object");
  const auto role = text_of(message, "role");
  const auto inside = cat(where, ".content");
  if (role == "user") return add_user(content_of(message), inside, native);
  if (role == "assistant") return add_assistant(content_of(message), inside, native);
  if (role == "system") return add_system(content_of(message), inside, native);
  return lacks(cat(where, ".role"), "to be user, assistant or system");
}

bool is_run_by_anthropic(const std::string& type) {
  for (const auto* prefix : {"web_search_", "web_fetch_", "code_execution_", "tool_search_tool_", "mcp_toolset"})
    if (starts_with(type, prefix)) return true;
  return false;
}

MaybeError add_tool(const Json& tool, const std::string& where, Json& native) {
  if (!tool.is_object()) return lacks(where, "to be an object");
  const auto type = text_of(tool, "type");
  if (is_run_by_anthropic(type)) return std::nullopt;
  if (!type.empty() && type != "custom")
    return invalid_request(cat("'", where, "' is of a type whose schema is not known here; send it as a custom "
                               "tool with an input_schema"), where, "unsupported_tool");
  if (text_of(tool, "name").empty()) return lacks(where, "a name");
  const auto schema = tool.find("input_schema");
  if (schema != tool.end() && !schema->is_object()) return lacks(cat(where, ".input_schema"), "to be an object");
  Json function = {{"name", text_of(tool, "name")}};
  if (has_text(tool, "description")) function["description"] = text_of(tool, "description");
  const Json no_parameters = {{"type", "object"}, {"properties", Json::object()}};
  function["parameters"] = schema == tool.end() ? no_parameters : *schema;
  native.push_back({{"type", "function"}, {"function", std::move(function)}});
  return std::nullopt;
}
}  // namespace

std::optional<ApiError> add_native_messages(const Json* system, const Json& messages, Json& native) {
  if (system != nullptr)
    if (auto error = add_system(*system, "system", native)) return error;
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (auto error = add_message(messages[i], cat("messages[", i, "]"), native)) return error;
  return std::nullopt;
}

std::optional<ApiError> add_native_tools(const Json& tools, Json& native) {
  for (std::size_t i = 0; i < tools.size(); ++i)
    if (auto error = add_tool(tools[i], cat("tools[", i, "]"), native)) return error;
  return std::nullopt;
}
}  // namespace corisco::gateway
