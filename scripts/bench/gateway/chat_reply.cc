#include "chat_reply.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::bench {
namespace {
using nlohmann::ordered_json;

// What follows the key, without blanks; empty if it is not there.
std::string_view value_of(std::string_view body, std::string_view key) {
  const auto found = body.find(key);
  return found == std::string_view::npos ? std::string_view() : trim(body.substr(found + key.size(), 16));
}

std::string chunk(const std::string& text) {
  std::string length(16, '0');
  const auto end = std::to_chars(length.data(), length.data() + length.size(), text.size(), 16).ptr;
  length.resize(static_cast<std::size_t>(end - length.data()));
  return cat(length, "\r\n", text, "\r\n");
}

std::string event(const std::string& id, ordered_json delta, ordered_json finish_reason) {
  const ordered_json choice = {{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish_reason)}};
  const ordered_json body = {{"id", id}, {"object", "chat.completion.chunk"}, {"created", 1700000000},
                             {"model", "scripted"}, {"choices", ordered_json::array({choice})}};
  return cat("data: ", json_text(body), "\n\n");
}

ordered_json completion(const std::string& id, std::size_t prompt_tokens) {
  const ordered_json message = {{"role", "assistant"}, {"content", "Hello! How can I help you today?"}};
  const ordered_json choice = {{"index", 0}, {"message", message}, {"finish_reason", "stop"}};
  const auto tokens = ChatReplies::tokens();
  const ordered_json usage = {{"prompt_tokens", prompt_tokens}, {"completion_tokens", tokens},
                              {"total_tokens", prompt_tokens + tokens}};
  return {{"id", id}, {"object", "chat.completion"}, {"created", 1700000000}, {"model", "scripted"},
          {"choices", ordered_json::array({choice})}, {"usage", usage}};
}

std::string fill(std::size_t wanted, std::size_t without) {
  return std::string(wanted > without ? wanted - without : 0, '0');
}

std::string reply_with_ids(std::size_t prompt_tokens) {
  auto reply = completion("chatcmpl-0", prompt_tokens);
  auto logprobs = ordered_json::array();
  for (unsigned i = 0; i < ChatReplies::tokens(); ++i)
    logprobs.push_back({{"token", "a"}, {"logprob", -0.125}, {"bytes", {97}}, {"top_logprobs", ordered_json::array()}});
  reply["choices"][0]["logprobs"]["content"] = std::move(logprobs);
  reply["choices"][0]["token_ids"] = std::vector<int>(ChatReplies::tokens(), 1000);
  reply["prompt_token_ids"] = std::vector<int>(prompt_tokens, 1000);
  return json_text(reply);
}
}  // namespace

Wish wish_of(std::string_view body) {
  Wish wish;
  // A prompt may be long: the options that clients add stand at its end or at its beginning.
  const auto ends = body.size() > 2048 ? cat(body.substr(0, 1024), body.substr(body.size() - 1024)) : std::string(body);
  wish.streamed = starts_with(value_of(ends, "\"stream\":"), "true");
  wish.with_ids = starts_with(value_of(ends, "\"return_token_ids\":"), "true");
  const auto max_tokens = value_of(ends, "\"max_tokens\":");
  std::from_chars(max_tokens.data(), max_tokens.data() + max_tokens.size(), wish.max_tokens);
  return wish;
}

ChatReplies::ChatReplies(std::size_t reply_bytes, std::size_t frame_bytes) {
  const std::string id = "chatcmpl-0";
  plain_ = json_text(completion(id + fill(reply_bytes, json_text(completion(id, 16)).size()), 16));
  const auto token = [](const std::string& name) { return event(name, {{"content", "a"}}, nullptr); };
  frame_ = chunk(token(id + fill(frame_bytes, token(id).size())));
  ending_ = chunk(event(id, ordered_json::object(), "length")) + chunk("data: [DONE]\n\n") + "0\r\n\r\n";
}

const std::string& ChatReplies::whole(const Wish& wish, std::size_t body_bytes) {
  if (!wish.with_ids) return plain_;
  const auto prompt_tokens = body_bytes / 4;
  auto& reply = with_ids_[prompt_tokens];
  if (reply.empty()) reply = reply_with_ids(prompt_tokens);
  return reply;
}
}  // namespace corisco::bench
