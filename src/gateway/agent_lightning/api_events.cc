// Events of a rollout: rewards and whatever else is posted, and the calls of the model.
#include <algorithm>
#include <cmath>
#include <utility>

#include "corisco/base/json.h"
#include "gateway/agent_lightning/api.h"
#include "gateway/agent_lightning/query.h"

namespace corisco::gateway::lightning {
namespace asio = boost::asio;
namespace {
constexpr std::size_t kEventsMax = 1000;      // of a rollout
constexpr std::size_t kTypeBytesMax = 128, kDataBytesMax = 64U << 10;
constexpr const char* kReward = "reward";
constexpr const char* kCall = "model_request";

// What the listing is made of; owned by it, so that it can be made on another thread.
struct Events {
  std::string rollout;
  std::vector<PostedEvent> posted;
  std::vector<Call> calls;
  ModelOrigin origin;
  EventView view = EventView::whole;
};

std::string to_list(const Events& events) {
  std::vector<Json> list;
  for (const auto& call : events.calls) list.push_back(call_event(call, events.rollout, events.origin, events.view));
  for (const auto& event : events.posted) list.push_back(event_object(event, events.rollout, events.view));
  std::stable_sort(list.begin(), list.end(), [](const Json& a, const Json& b) {
    return a["timestamp"].get<double>() < b["timestamp"].get<double>();
  });
  return json_text(Json(std::move(list)));
}

std::size_t size_of(const std::vector<Call>& calls) {
  std::size_t bytes = 0;
  for (const auto& call : calls)
    bytes += call.prompt_ids.size() * 6 + call.tokens.size() * 32 + call.request_json.size() + call.reply_text.size();
  return bytes;
}

bool is_reward(const PostedEvent& event) { return event.type == kReward; }

// The reward that a grader gave, or the minimum that stands for a missing one.
PostedEvent graded_reward(const RolloutStatus& status) {
  const Json data = {{"value", *status.reward}, {"source", "corisco"}, {"reason", status.note}};
  return {kReward, json_text(data), status.changed_unix_seconds};
}
}  // namespace

// Replaces the value by the number that counts.
std::optional<ApiError> Api::post_reward(AttemptKey attempt, Json& data) {
  JsonFields fields(data);
  const auto* value = fields.find("value");
  const bool is_number = value != nullptr && value->is_number() && std::isfinite(value->get<double>());
  if (!is_number && (value == nullptr || !value->is_boolean()))
    return unprocessable("data.value", "'data.value' must be a finite number or a boolean");
  const double reward = is_number ? value->get<double>() : value->get<bool>() ? 1.0 : 0.0;
  std::string note;
  for (const char* name : {"message", "reason", "source"})
    if (note.empty()) note = fields.text(name);
  if (fields.problem()) return unprocessable("data", fields.problem()->message);
  const auto posted = parts_.rollouts->post_reward(attempt, reward, note);
  if (!posted.ok()) return from_error(posted.error());
  if (!is_number) data["value"] = reward;
  return std::nullopt;
}

OrApiError<Reply> Api::post_event(const LightningPath& path, const Caller& caller, const RequestBody& body) {
  const auto parsed = body.json();
  if (const auto* error = std::get_if<ApiError>(parsed.get())) return unprocessable("", error->message);
  JsonFields fields(std::get<Json>(*parsed));
  const auto type = fields.text("event_type");
  if (fields.problem() || type.empty() || type.size() > kTypeBytesMax)
    return unprocessable("event_type", "'event_type' must be a short text");
  if (type == kCall) return not_served("calls of the model are recorded by the daemon, and cannot be posted");
  const auto* given = fields.find("data");
  Json data = given == nullptr ? Json::object() : *given;
  if (!data.is_object()) return unprocessable("data", "'data' must be an object");
  const auto attempt = records_.resolve(path.rollout, path.attempt);
  const bool is_open_to_caller = attempt && (caller.attempt || parts_.rollouts->look(*attempt));
  if (!is_open_to_caller) return not_found("there is no such rollout; its attempt is called 0");
  const auto bytes = body.num_bytes();
  if (bytes > kDataBytesMax) return unprocessable("data", cat("an event may have ", kDataBytesMax, " bytes"));
  auto* record = record_for(*attempt, bytes);
  if (record == nullptr || record->events.size() >= kEventsMax) return no_room();
  if (type == kReward) {
    if (auto error = post_reward(*attempt, data)) return std::move(*error);
  }
  record->events.push_back({type, json_text(data), parts_.clock->unix_seconds()});
  return json_reply(200, event_object(record->events.back(), path.rollout, EventView::whole));
}

asio::awaitable<OrApiError<Reply>> Api::list_events(std::string name, std::string target, std::string server_url) {
  const auto query = query_of(target);
  const auto type = one_of(query, "event_type"), format = one_of(query, "format");
  if (format && *format != "triplet") co_return unprocessable("format", "'format' can only be triplet");
  const auto status = find(name);
  if (!status) co_return no_such_rollout();
  Events events;
  events.rollout = name;
  events.view = format ? EventView::triplet : EventView::whole;
  events.origin = {parts_.model_name, server_url + "/v1"};
  if (const auto* record = records_.find(status->attempt)) events.posted = record->events;
  if (status->reward && std::none_of(events.posted.begin(), events.posted.end(), is_reward))
    events.posted.push_back(graded_reward(*status));
  if (type) std::erase_if(events.posted, [&](const auto& event) { return event.type != *type; });
  if (!type || *type == kCall) {
    if (status->is_of_run)
      co_return not_served("the calls of the run's own rollouts are trained here and not handed out; the run's journal "
                           "keeps them, and event_type=reward lists the reward");
    const auto* calls = parts_.rollouts->external_calls(status->attempt);
    if (calls != nullptr) events.calls = *calls;
    if (calls == nullptr && status->state != RolloutState::queued) {
      auto gone = not_found("the calls of this rollout are no longer kept; the run's journal has them");
      gone.status = 410;
      co_return gone;
    }
  }
  const auto size = size_of(events.calls);
  auto make = [events = std::move(events)] { return to_list(events); };
  Reply reply;
  reply.body = co_await context_.worker.run(size, std::move(make));
  co_return reply;
}
}  // namespace corisco::gateway::lightning
