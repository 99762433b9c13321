#include "gateway/rollout_routes.h"

#include "corisco/base/json.h"
#include "gateway/json_fields.h"

namespace corisco::gateway {
namespace {
Reply json_reply(int status, const Json& body) {
  Reply reply;
  reply.status = status;
  reply.body = json_text(body);
  return reply;
}

struct Reward {
  double value = 0;
  std::string note;
};

OrApiError<Reward> read_reward(const Json& event) {
  JsonFields fields(event);
  if (fields.text("event_type") != "reward")
    return invalid_request("'event_type' must be \"reward\"", "event_type");
  const auto* data = fields.find("data");
  if (data == nullptr || !data->is_object()) return invalid_request("'data' must be an object", "data");
  JsonFields inner(*data);
  Reward reward;
  const auto* value = inner.find("value");
  if (value != nullptr && value->is_boolean())
    reward.value = value->get<bool>() ? 1 : 0;
  else if (value != nullptr && value->is_number() && std::isfinite(value->get<double>()))
    reward.value = value->get<double>();
  else
    return invalid_request("'data.value' must be a finite number or a boolean", "data.value",
                           "invalid_reward");
  reward.note = inner.text("note");
  if (inner.problem()) return *inner.problem();
  constexpr std::size_t kNoteBytesMax = 4096;
  if (reward.note.size() > kNoteBytesMax)
    return invalid_request(cat("'data.note' is longer than ", kNoteBytesMax, " bytes"), "data.note");
  return reward;
}
// The task as text; empty: none was sent.
OrApiError<std::string> read_task(const RequestBody& body) {
  const auto parsed = body.json();
  if (const auto* error = std::get_if<ApiError>(parsed.get())) return *error;
  JsonFields fields(std::get<Json>(*parsed));
  const auto* task = fields.find("task");
  const auto mode = fields.text("mode");
  if (fields.problem()) return *fields.problem();
  if (task != nullptr && !task->is_object()) return invalid_request("'task' must be an object", "task");
  if (!mode.empty() && mode != "val")
    return invalid_request("'mode' can only be \"val\": a training rollout takes its task from rollouts.tasks; "
                           "leave out 'task' and 'mode' to be given the next one", "mode");
  if (task == nullptr && !mode.empty()) return invalid_request("'mode' needs a 'task'", "task");
  return task == nullptr ? std::string() : json_text(*task);
}

Reply shown(const RolloutPort::Opened& rollout, const std::string& server_url) {
  const auto base = cat(server_url, rollout.base_url_path);
  return json_reply(201, {{"rollout_id", rollout.attempt.rollout.value},
                          {"attempt", rollout.attempt.attempt},
                          {"mode", to_string(rollout.mode)},
                          {"task", parse_ordered_json(rollout.task_json)},
                          {"base_url", cat(base, "/v1")},
                          {"api_key", rollout.key},
                          {"reward_url", cat(base, "/events")}});
}
}  // namespace

boost::asio::awaitable<OrApiError<Reply>> open_rollout(TextWorker& worker, RolloutPort& rollouts, RequestBody body,
                                                       std::string server_url) {
  const auto body_bytes = body.num_bytes();
  auto read = [body = std::move(body)] { return read_task(body); };
  auto wanted = co_await worker.run(body_bytes, std::move(read));
  if (auto* error = std::get_if<ApiError>(&wanted)) co_return std::move(*error);
  auto& task = std::get<std::string>(wanted);
  auto opened = task.empty() ? rollouts.take_waiting() : rollouts.open_external(std::move(task));
  if (!opened.ok()) co_return from_error(opened.error());
  const auto task_bytes = opened.value().task_json.size();
  auto show = [rollout = std::move(opened).value(), url = std::move(server_url)] { return shown(rollout, url); };
  auto reply = co_await worker.run(task_bytes, std::move(show));
  co_return reply;
}

boost::asio::awaitable<OrApiError<Reply>> finish_attempt(RolloutPort& rollouts, CallSink& calls, AttemptKey attempt) {
  const auto finished = rollouts.finish_external(attempt);
  if (!finished.ok()) co_return from_error(finished.error());
  const auto kept = co_await calls.settle();
  if (!kept.ok()) co_return from_error(kept.error());
  co_return json_reply(200, {{"rollout_id", attempt.rollout.value}, {"attempt", attempt.attempt}});
}

OrApiError<Reply> post_event(RolloutPort& rollouts, AttemptKey attempt, const RequestBody& body) {
  const auto parsed = body.json();
  if (const auto* error = std::get_if<ApiError>(parsed.get())) {
    auto told = *error;
    told.message += "; a reward must be a finite number or a boolean, and NaN and Infinity are not JSON";
    return told;
  }
  auto reward = read_reward(std::get<Json>(*parsed));
  if (auto* error = std::get_if<ApiError>(&reward)) return std::move(*error);
  auto& read = std::get<Reward>(reward);
  const auto posted = rollouts.post_reward(attempt, read.value, std::move(read.note));
  if (!posted.ok()) return from_error(posted.error());
  return json_reply(200, {{"event_type", "reward"}, {"value", read.value}});
}
}  // namespace corisco::gateway
