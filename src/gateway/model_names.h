// Which model names are served, and what each stands for. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "corisco/config/config.h"
#include "gateway/api_error.h"
#include "gateway/chat_request.h"

namespace corisco::gateway {
// Of a name that is served; a request without one is the policy's.
ModelRole role_of(const config::Gateway& options, const std::string& name);
// Null if the name is served: any is the policy's, unless gateway.model_names lists those that are.
std::optional<ApiError> unknown_model(const config::Gateway& options, const std::string& name);
// For /v1/models. model_name: the policy's where any is.
std::vector<std::string> served_names(const config::Gateway& options, const std::string& model_name);
// Of a name of another server's at a path that is not passed on.
ApiError not_passed_on();
}  // namespace corisco::gateway
