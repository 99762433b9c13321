// Which model there is, and the pause.
#include "corisco/base/json.h"
#include "gateway/agent_lightning/api.h"

namespace corisco::gateway::lightning {
OrApiError<Reply> Api::models(const std::string& method, const std::string& server_url) const {
  if (method == "POST" || method == "DELETE")
    return not_served("the daemon serves its own model; no other server can be registered or removed");
  const Json model = {{"model", parts_.model_name},
                      {"endpoint", server_url + "/v1"},
                      {"version", parts_.generator->policy_version().value}};
  return json_reply(200, Json::array({model}));
}

// While paused, requests are held, not refused; inflight is what the engine still works on.
OrApiError<Reply> Api::pause(RouteKind kind, const RequestBody& body) {
  if (kind == RouteKind::lightning_pause && body.num_bytes() > 0) {
    const auto parsed = body.json();
    if (const auto* error = std::get_if<ApiError>(parsed.get())) return unprocessable("", error->message);
    JsonFields fields(std::get<Json>(*parsed));
    const auto seconds = fields.integer("retry_after_seconds", 0, 86400).value_or(5);
    const auto reason = fields.text("reason");
    if (fields.problem()) return unprocessable(fields.problem()->param, fields.problem()->message);
    if (reason.size() > 4096) return unprocessable("reason", "'reason' is too long");
    retry_after_seconds_ = seconds;
    pause_reason_ = reason;
  }
  if (kind != RouteKind::lightning_state && parts_.set_paused) parts_.set_paused(kind == RouteKind::lightning_pause);
  const auto state = parts_.state_json ? parse_json(parts_.state_json()) : nlohmann::json::object();
  const bool is_paused = state.is_object() && state.value("paused", false);
  if (!is_paused) pause_reason_.clear();
  return json_reply(200, {{"paused", is_paused},
                          {"retry_after_seconds", retry_after_seconds_},
                          {"reason", pause_reason_.empty() ? Json(nullptr) : Json(pause_reason_)},
                          {"inflight", parts_.gate->num_inside()}});
}
}  // namespace corisco::gateway::lightning
