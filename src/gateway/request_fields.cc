#include "gateway/request_fields.h"

#include "corisco/base/json.h"

namespace corisco::gateway {
void refuse_unsupported(JsonFields& fields, std::span<const Unsupported> unsupported) {
  for (const auto& field : unsupported) {
    const auto* value = fields.find(field.name);
    if (value != nullptr && !field.is_harmless(*value))
      fields.refuse(field.name, "with this value is not supported", "unsupported_parameter");
  }
}

bool is_empty_or_false(const Json& value) {
  return value.is_null() || value == false || (value.is_structured() && value.empty()) || value == "";
}

void read_model(JsonFields& fields, ChatRequest& request) {
  constexpr std::size_t kNameBytesMax = 256;
  request.model = fields.text("model");
  if (request.model.size() > kNameBytesMax) fields.refuse("model", "is too long");
}

void read_template_kwargs(JsonFields& fields, ChatRequest& request) {
  const auto* kwargs = fields.find("chat_template_kwargs");
  if (kwargs == nullptr) return;
  if (!kwargs->is_object()) fields.refuse("chat_template_kwargs", "must be an object");
  else if (!kwargs->empty()) request.template_kwargs_json = json_text(*kwargs);
}

void read_stop_strings(JsonFields& fields, const char* name, const ChatLimits& limits, ChatRequest& request) {
  const auto* stop = fields.find(name);
  if (stop == nullptr) return;
  const Json list = stop->is_string() ? Json::array({*stop}) : *stop;
  if (!list.is_array() || list.size() > limits.stops_max) {
    fields.refuse(name, cat("must be a string or a list of at most ", limits.stops_max, " strings"));
    return;
  }
  for (const auto& text : list) {
    if (text.is_string() && !text.get_ref<const std::string&>().empty())
      request.stop_strings.push_back(text.get<std::string>());
    else
      fields.refuse(name, "must not hold an empty string or anything but strings");
  }
}

void read_draw_limits(JsonFields& fields, int top_k_min, ClientSampling& sampling) {
  sampling.temperature = fields.number("temperature", 0, 10);
  sampling.top_p = fields.number("top_p", 0, 1);
  if (sampling.top_p == 0.0) fields.refuse("top_p", "must be above 0");
  if (const auto top_k = fields.integer("top_k", top_k_min, 0x7fffffff))
    sampling.top_k = static_cast<std::uint32_t>(*top_k < 0 ? 0 : *top_k);
}

const Json* read_messages_list(JsonFields& fields, const ChatLimits& limits) {
  const auto* messages = fields.find("messages");
  const bool is_list = messages != nullptr && messages->is_array() && !messages->empty();
  if (!is_list) fields.refuse("messages", "must be a non-empty list");
  else if (messages->size() > limits.messages_max)
    fields.refuse("messages", cat("holds more than ", limits.messages_max));
  return fields.problem() ? nullptr : messages;
}

void note_strict_tool(const Json& tool, ChatRequest& request) {
  if (!tool.is_object() || tool.value("strict", Json()) != true) return;
  const auto name = tool.value("name", Json());
  if (name.is_string()) request.strict_tools.push_back(name.get<std::string>());
}

const Json* read_tools_list(JsonFields& fields, const ChatLimits& limits) {
  const auto* tools = fields.find("tools");
  if (tools == nullptr) return nullptr;
  if (!tools->is_array() || tools->size() > limits.tools_max) {
    fields.refuse("tools", cat("must be a list of at most ", limits.tools_max, " tools"));
    return nullptr;
  }
  return tools->empty() ? nullptr : tools;
}
}  // namespace corisco::gateway
