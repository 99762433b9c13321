// Which model names are served: every one, or those that the config lists. Pure.
#pragma once
#include <optional>
#include <string>

#include "corisco/config/config.h"
#include "gateway/api_error.h"

namespace corisco::gateway {
// Null if the name is served; a request without one is.
std::optional<ApiError> unknown_model(const config::Gateway& options, const std::string& name);
}  // namespace corisco::gateway
