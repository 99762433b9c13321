// What a client understands of a reply in each wire format: from the events of its stream, or from
// the unstreamed body. For the fuzz target that compares the two.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>

#include "corisco/base/json.h"
#include "fuzz/fuzz.h"
#include "gateway/routes.h"

namespace corisco::gateway {
using Json = nlohmann::ordered_json;
using fuzz::require;

struct Shown {
  std::string text, thoughts;
  std::vector<std::string> arguments;    // of each call
};

// One event: its name, if it has one, is its data's type.
inline std::optional<Json> data_of(std::string_view event) {
  std::string name;
  std::optional<Json> data;
  for (const auto& line : split(event, '\n')) {
    if (starts_with(line, "event: ")) {
      name = line.substr(7);
    } else if (starts_with(line, "data: ")) {
      require(!data, "two data lines: ", event);
      const auto text = line.substr(6);
      data = text == "[DONE]" ? Json(text) : parse_ordered_json(text);
      require(!data->is_discarded(), "data that is no JSON: ", text);
    } else {
      require(starts_with(line, ":"), "a line of no event: ", line);
    }
  }
  require(name.empty() || (data && data->value("type", "") == name), "an event under another name: ", event);
  return data;
}

inline std::vector<Json> events_of(std::string_view bytes) {
  require(fuzz::is_utf8(bytes), "not UTF-8");
  std::vector<Json> events;
  while (!bytes.empty()) {
    const auto end = bytes.find("\n\n");
    require(end != std::string_view::npos, "half an event: ", bytes);
    if (auto data = data_of(bytes.substr(0, end))) events.push_back(std::move(*data));
    bytes.remove_prefix(end + 2);
  }
  return events;
}

inline std::string text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

inline void add_openai_event(const Json& event, Shown& shown) {
  if (!event.is_object() || !event.contains("choices") || event["choices"].empty()) return;
  const auto& choice = event["choices"][0];
  shown.text += text_in(choice, "text");
  if (!choice.contains("delta")) return;
  const auto& delta = choice["delta"];
  shown.text += text_in(delta, "content");
  shown.thoughts += text_in(delta, "reasoning_content");
  if (!delta.contains("tool_calls")) return;
  for (const auto& call : delta["tool_calls"]) {
    if (call.contains("id")) shown.arguments.emplace_back();
    require(call["index"].get<std::size_t>() + 1 == shown.arguments.size(), "a call out of order");
    shown.arguments.back() += text_in(call["function"], "arguments");
  }
}

inline void add_anthropic_event(const Json& event, Shown& shown) {
  const auto type = text_in(event, "type");
  const bool is_start = type == "content_block_start";
  if (is_start && text_in(event["content_block"], "type") == "tool_use") shown.arguments.emplace_back();
  if (type != "content_block_delta") return;
  const auto& delta = event["delta"];
  shown.text += text_in(delta, "text");
  shown.thoughts += text_in(delta, "thinking");
  if (delta.contains("partial_json")) shown.arguments.back() += text_in(delta, "partial_json");
}

inline void add_responses_event(const Json& event, Shown& shown) {
  const auto type = text_in(event, "type");
  if (type == "response.output_text.delta") shown.text += text_in(event, "delta");
  if (type == "response.reasoning_text.delta") shown.thoughts += text_in(event, "delta");
  if (type == "response.function_call_arguments.delta" || type == "response.custom_tool_call_input.delta")
    shown.arguments.back() += text_in(event, "delta");
  if (type != "response.output_item.added") return;
  const auto kind = text_in(event["item"], "type");
  if (kind == "function_call" || kind == "custom_tool_call") shown.arguments.emplace_back();
}

inline void add_event(const Json& event, RouteKind kind, Shown& shown) {
  if (kind == RouteKind::messages) add_anthropic_event(event, shown);
  else if (kind == RouteKind::responses) add_responses_event(event, shown);
  else add_openai_event(event, shown);
}

inline Shown shown_of_message(const Json& reply) {
  Shown shown;
  for (const auto& block : reply["content"]) {
    shown.text += text_in(block, "text");
    shown.thoughts += text_in(block, "thinking");
    if (block.contains("input")) shown.arguments.push_back(json_text(block["input"]));
  }
  return shown;
}

inline Shown shown_of_response(const Json& reply) {
  Shown shown;
  for (const auto& item : reply["output"]) {
    const auto type = text_in(item, "type");
    for (const auto& part : item.value("content", Json::array()))
      (type == "reasoning" ? shown.thoughts : shown.text) += text_in(part, "text");
    if (type == "function_call") shown.arguments.push_back(text_in(item, "arguments"));
    if (type == "custom_tool_call") shown.arguments.push_back(text_in(item, "input"));
  }
  return shown;
}

inline Shown shown_of_whole(const Json& reply, RouteKind kind) {
  if (kind == RouteKind::messages) return shown_of_message(reply);
  if (kind == RouteKind::responses) return shown_of_response(reply);
  const auto& choice = reply["choices"][0];
  if (kind == RouteKind::completions) return {text_in(choice, "text"), {}, {}};
  const auto& message = choice["message"];
  Shown shown{text_in(message, "content"), text_in(message, "reasoning_content"), {}};
  for (const auto& call : message.value("tool_calls", Json::array()))
    shown.arguments.push_back(text_in(call["function"], "arguments"));
  return shown;
}
}  // namespace corisco::gateway
