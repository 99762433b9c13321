#include "gateway/chat_messages.h"

#include <algorithm>
#include <string>

#include "corisco/base/strings.h"

namespace corisco::gateway {
namespace {
using MaybeError = std::optional<ApiError>;

MaybeError join_parts(Json& message, const std::string& where) {
  const auto content = message.find("content");
  if (content == message.end() || content->is_null() || content->is_string()) return std::nullopt;
  if (!content->is_array())
    return invalid_request(cat("'", where, ".content' must be a string or an array"), where);
  std::vector<std::string> texts;
  for (const auto& part : *content) {
    if (!part.is_object() || !part.contains("type") || !part["type"].is_string())
      return invalid_request(cat("'", where, ".content' has a part without a type"), where);
    const auto type = part["type"].get<std::string>();
    if (type != "text" && type != "refusal")
      return invalid_request(
          cat("'", where, ".content' has a part that is not text; this model takes text only"), where,
          "unsupported_content");
    const auto text = part.find(type);
    if (text == part.end() || !text->is_string())
      return invalid_request(cat("'", where, ".content' has a part without its text"), where);
    texts.push_back(text->get<std::string>());
  }
  *content = join(texts, "\n");
  return std::nullopt;
}

}  // namespace

MaybeError normalise_messages(Json& messages) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    auto& message = messages[i];
    const auto where = cat("messages[", i, "]");
    if (!message.is_object()) return invalid_request(cat("'", where, "' must be an object"), where);
    const auto role = message.find("role");
    if (role == message.end() || !role->is_string())
      return invalid_request(cat("'", where, ".role' must be a string"), where);
    if (*role == "developer") *role = "system";
    if (auto error = join_parts(message, where)) return error;
  }
  return std::nullopt;
}

bool are_normal(const Json& messages) {
  return std::all_of(messages.begin(), messages.end(), [](const Json& message) {
    if (!message.is_object()) return false;
    const auto role = message.find("role"), content = message.find("content");
    const bool has_role = role != message.end() && role->is_string() && *role != "developer";
    return has_role && (content == message.end() || content->is_null() || content->is_string());
  });
}
}  // namespace corisco::gateway
