#include "gateway/model_names.h"

#include <algorithm>

namespace corisco::gateway {
std::optional<ApiError> unknown_model(const config::Gateway& options, const std::string& name) {
  const auto& names = options.model_names;
  const bool is_listed = std::find(names.begin(), names.end(), name) != names.end();
  if (names.empty() || name.empty() || is_listed) return std::nullopt;
  auto error = invalid_request("no model of this name is served here; /v1/models lists those that are", "model",
                               "model_not_found");
  error.status = 404;
  error.is_final = true;
  return error;
}
}  // namespace corisco::gateway
