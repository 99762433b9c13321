// GET /v1/models and /v1/models/{id}, in the form that OpenAI's or that Anthropic's clients read. Pure.
#pragma once
#include <string>
#include <vector>

#include "gateway/api_error.h"
#include "gateway/http_head.h"
#include "gateway/routes.h"

namespace corisco::gateway {
// Of a route's answers, errors too. The model list is at one path in both APIs, and only Anthropic's
// clients send anthropic-version.
ErrorShape reply_shape_of(RouteKind kind, const Head& head);
std::string model_list_json(const std::vector<std::string>& names, ErrorShape shape);
std::string model_json(const std::string& name, ErrorShape shape);
}  // namespace corisco::gateway
