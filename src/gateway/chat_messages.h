// The messages of an OpenAI chat request as templates expect them. Pure.
#pragma once
#include <optional>

#include "gateway/api_error.h"
#include "gateway/json_fields.h"

namespace corisco::gateway {
// In place: parts of text become one text (joined by a line break, as vLLM does for templates that
// take texts), "developer" becomes "system".
// Images, audio and files are refused by name.
std::optional<ApiError> normalise_messages(Json& messages);
// Whether that would find nothing to change or to refuse.
bool are_normal(const Json& messages);
}  // namespace corisco::gateway
