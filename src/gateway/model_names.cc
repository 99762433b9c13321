#include "gateway/model_names.h"

#include <algorithm>

namespace corisco::gateway {
namespace {
bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

ApiError model_not_found(std::string message) {
  auto error = invalid_request(std::move(message), "model", "model_not_found");
  error.status = 404;
  error.is_final = true;
  return error;
}
}  // namespace

ModelRole role_of(const config::Gateway& options, const std::string& name) {
  if (is_among(options.frozen_names, name)) return ModelRole::frozen;
  return options.upstream_urls.contains(name) ? ModelRole::upstream : ModelRole::policy;
}

std::optional<ApiError> unknown_model(const config::Gateway& options, const std::string& name) {
  if (options.model_names.empty() || name.empty() || is_among(options.model_names, name)) return std::nullopt;
  if (role_of(options, name) != ModelRole::policy) return std::nullopt;
  return model_not_found("no model of this name is served here; /v1/models lists those that are");
}

std::vector<std::string> served_names(const config::Gateway& options, const std::string& model_name) {
  auto names = options.model_names;
  if (names.empty()) names.push_back(model_name);
  names.insert(names.end(), options.frozen_names.begin(), options.frozen_names.end());
  for (const auto& [name, url] : options.upstream_urls) names.push_back(name);
  return names;
}

ApiError not_passed_on() {
  return model_not_found("this name is another server's (gateway.upstream_urls), which is not reached by this path; "
                         "ask for it at /v1/chat/completions, /v1/completions, /v1/responses or /v1/messages");
}
}  // namespace corisco::gateway
