#include "gateway/agent_lightning/objects.h"

#include <algorithm>

#include "corisco/base/json.h"

namespace corisco::gateway::lightning {
namespace {
constexpr const char* kAttempt = "0";    // the only one that a rollout has there
constexpr std::uint32_t kTimeoutSeconds = 3600;   // theirs, where none is given

bool has_succeeded(Outcome outcome) {
  return outcome == Outcome::completed || outcome == Outcome::truncated || outcome == Outcome::grader_failed ||
         outcome == Outcome::no_reward;
}

Json or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

// A rollout ends at the daemon's own limit too.
Json config_of(const Json& task, const Record* record, const config::Config& config) {
  Json given = Json::object();
  if (record != nullptr && !record->config_json.empty()) given = parse_ordered_json(record->config_json);
  else if (const auto own = task.find("agl_config"); own != task.end() && own->is_object()) given = *own;
  const auto& asked = given["timeout_seconds"];
  const auto seconds = asked.is_number_unsigned() ? asked.get<std::uint64_t>() : kTimeoutSeconds;
  given["timeout_seconds"] = std::min<std::uint64_t>(seconds, config.rollouts.seconds_max);
  for (const char* runner : {"local", "k8s"})
    if (!given.contains(runner)) given[runner] = nullptr;
  return given;
}

Json status_object(const RolloutStatus& status, const Record* record) {
  const Record nothing;
  const auto& told = record == nullptr ? nothing : *record;
  const std::string state = state_of(status);
  auto error = or_null(told.error_message);
  if (error.is_null() && state == "failed") error = cat(to_string(*status.outcome), ": ", status.note);
  auto last_attempt = or_null(told.last_attempt);
  if (last_attempt.is_null() && status.state != RolloutState::queued) last_attempt = kAttempt;
  const auto num_states = state == "queuing" ? 0 : state == "running" ? 1 : 2;
  return {{"state", state},
          {"k8s_job_name", or_null(told.k8s_job_name)},
          {"last_attempt_id", last_attempt},
          {"error_message", error},
          {"version", 1 + num_states + told.num_patches},
          {"created_at", status.opened_unix_seconds},
          {"updated_at", std::max(status.changed_unix_seconds, told.patched_unix_seconds)}};
}

Json event_base(const std::string& type, const std::string& rollout, double unix_seconds, Json data) {
  return {{"event_type", type},
          {"rollout_id", rollout},
          {"attempt_id", kAttempt},
          {"timestamp", unix_seconds},
          {"data", std::move(data)}};
}

Json reply_of(const Call& call, const std::string& model) {
  Json ids = Json::array(), logprobs = Json::array();
  for (const auto& token : call.tokens) {
    ids.push_back(token.id);
    logprobs.push_back({{"logprob", token.sampled_logprob}});
  }
  const Json usage = {{"prompt_tokens", call.prompt_ids.size()},
                      {"completion_tokens", call.tokens.size()},
                      {"total_tokens", call.prompt_ids.size() + call.tokens.size()}};
  const Json choice = {{"index", 0},
                       {"message", {{"role", "assistant"}, {"content", call.reply_text}}},
                       {"finish_reason", to_string(call.finish)},
                       {"logprobs", {{"content", std::move(logprobs)}}},
                       {"token_ids", std::move(ids)}};
  return {{"model", model},
          {"choices", Json::array({choice})},
          {"prompt_token_ids", call.prompt_ids.items()},
          {"usage", usage}};
}

Json triplet_of(const Call& call) {
  Json ids = Json::array(), logprobs = Json::array();
  for (const auto& token : call.tokens) {
    ids.push_back(token.id);
    logprobs.push_back(token.sampled_logprob);
  }
  return {{"prompt_token_ids", call.prompt_ids.items()},
          {"response_token_ids", std::move(ids)},
          {"response_log_probs", std::move(logprobs)}};
}
}  // namespace

const char* state_of(const RolloutStatus& status) {
  if (status.state == RolloutState::queued) return "queuing";
  if (!status.outcome) return "running";
  return has_succeeded(*status.outcome) ? "succeeded" : "failed";
}

Json rollout_object(const RolloutStatus& status, const Record* record, const std::string& name,
                    const config::Config& config) {
  const auto task = parse_ordered_json(status.task_json);
  const bool has_metadata = record != nullptr && !record->metadata_json.empty();
  return {{"rollout_id", name},
          {"input", task},
          {"is_train", status.mode == Mode::train},
          {"config", config_of(task, record, config)},
          {"metadata", has_metadata ? parse_ordered_json(record->metadata_json) : Json::object()},
          {"status", status_object(status, record)}};
}

Json event_object(const PostedEvent& event, const std::string& rollout, EventView view) {
  auto data = parse_ordered_json(event.data_json);
  if (view == EventView::triplet && event.type == "reward") {
    Json trimmed = {{"value", data["value"]}};
    for (const char* name : {"source", "reason"})
      if (data.contains(name)) trimmed[name] = data[name];
    data = std::move(trimmed);
  }
  return event_base(event.type, rollout, event.unix_seconds, std::move(data));
}

// Its version is that of the first token: a call may go on through an update.
Json call_event(const Call& call, const std::string& rollout, const ModelOrigin& origin, EventView view) {
  const auto version = call.tokens.empty() ? 0 : call.tokens.front().policy_version.value;
  const char* status = call.finish == FinishReason::aborted ? "error" : "ok";
  Json data = view == EventView::triplet ? triplet_of(call) : Json::object();
  if (view == EventView::whole) {
    auto sent = parse_ordered_json(call.request_json.items());
    if (sent.is_discarded()) sent = call.request_json.items();
    auto reply = reply_of(call, origin.model);
    data = {{"model", origin.model},
            {"model_version", version},
            {"request", {{sent.is_array() ? "messages" : "prompt", sent}}},
            {"latency_ms", nullptr},
            {"retry_count", 0},
            {"usage", reply["usage"]},
            {"finish_reason", to_string(call.finish)}};
    data["response"] = std::move(reply);
  }
  data["server"] = {{"model", origin.model}, {"endpoint", origin.endpoint}, {"version", version}};
  data["http_status"] = 200;
  data["status"] = status;
  return event_base("model_request", rollout, call.started_unix_seconds, std::move(data));
}
}  // namespace corisco::gateway::lightning
