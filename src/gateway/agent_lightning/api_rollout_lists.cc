// Rollouts: listed and read. Their JSON is made on the text thread where it is long.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "corisco/base/json.h"
#include "gateway/agent_lightning/api.h"
#include "gateway/agent_lightning/query.h"

namespace corisco::gateway::lightning {
namespace asio = boost::asio;
namespace {
std::string data_id_of(const std::string& task_json) {
  const auto task = parse_ordered_json(task_json);
  for (const char* name : {"data_id", "instance_id"}) {
    const auto found = task.find(name);
    if (found == task.end() || found->is_null()) continue;
    return found->is_string() ? found->get<std::string>() : json_text(*found);
  }
  return {};
}

}  // namespace

bool is_state(std::string_view text) {
  constexpr std::array<std::string_view, 4> kStates = {"queuing", "running", "succeeded", "failed"};
  return std::find(kStates.begin(), kStates.end(), text) != kStates.end();
}

ApiError no_such_rollout() { return not_found("there is no such rollout, or it is no longer kept"); }

Api::Listed Api::listed_of(RolloutStatus status) const {
  Listed listed;
  listed.name = records_.name_of(status.attempt);
  listed.has_begun = status.state != RolloutState::queued;
  if (const auto* record = records_.find(status.attempt)) {
    listed.has_begun = listed.has_begun || !record->events.empty();
    listed.record = Record{record->name, record->config_json, record->metadata_json, record->k8s_job_name,
                           record->last_attempt, record->error_message, record->num_patches,
                           record->patched_unix_seconds, record->is_started_here, {}, 0};
  }
  listed.status = std::move(status);
  return listed;
}

asio::awaitable<Reply> Api::show(int http_status, Wrapping wrapping, std::vector<Listed> listed) const {
  std::size_t size = 0;
  for (const auto& one : listed) size += one.status.task_json.size();
  auto make = [listed = std::move(listed), wrapping, &config = *parts_.config] {
    Json list = Json::array();
    for (const auto& one : listed)
      list.push_back(rollout_object(one.status, one.record ? &*one.record : nullptr, one.name, config));
    if (wrapping == Wrapping::list) return json_text(list);
    if (wrapping == Wrapping::bare) return json_text(list[0]);
    const Json attempts = listed[0].has_begun ? Json::array({"0"}) : Json::array();
    return json_text(Json{{"rollout", list[0]}, {"attempts", attempts}});
  };
  Reply reply;
  reply.status = http_status;
  reply.body = co_await context_.worker.run(size, std::move(make));
  co_return reply;
}

// Ended ones first. A controller takes a running rollout that it does not know for dead, so those that
// others have taken are left out.
asio::awaitable<OrApiError<Reply>> Api::list(std::string target) const {
  const auto query = query_of(target);
  const auto states = all_of(query, "state_in");
  const auto limit = number_of(query, "limit", 500);
  if (states.empty() || !std::all_of(states.begin(), states.end(), is_state))
    co_return unprocessable("state_in", "'state_in' must be queuing, running, succeeded or failed; it may be repeated");
  if (!limit) co_return unprocessable("limit", "'limit' must be a number");
  std::vector<Listed> listed;
  const auto is_asked = [&](std::string_view state) {
    return std::find(states.begin(), states.end(), state) != states.end();
  };
  const auto consider = [&](RolloutStatus& status) {
    if (is_asked(state_of(status)) && listed.size() < *limit) listed.push_back(listed_of(std::move(status)));
  };
  if (is_asked("succeeded") || is_asked("failed")) {
    auto ended = parts_.rollouts->finished_external(0, std::numeric_limits<std::size_t>::max());
    for (auto& status : ended.items) consider(status);
  }
  auto open = parts_.rollouts->open_external_rollouts();
  for (auto& status : open) {
    const auto* record = records_.find(status.attempt);
    if (status.state == RolloutState::queued || (record != nullptr && record->is_started_here)) consider(status);
  }
  co_return co_await show(200, Wrapping::list, std::move(listed));
}

asio::awaitable<OrApiError<Reply>> Api::list_terminal(std::string target) const {
  const auto query = query_of(target);
  const auto after = number_of(query, "after", 0), limit = number_of(query, "limit", 1000);
  if (!after || !limit) co_return unprocessable(after ? "limit" : "after", "'after' and 'limit' must be numbers");
  auto page = parts_.rollouts->finished_external(*after, std::max<std::size_t>(*limit, 1));
  std::vector<std::string> names;
  std::size_t size = 0;
  for (const auto& status : page.items) {
    names.push_back(records_.name_of(status.attempt));
    size += status.task_json.size();
  }
  auto make = [page = std::move(page), names = std::move(names)] {
    Json items = Json::array();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto& status = page.items[i];
      items.push_back({{"rollout_id", names[i]},
                       {"state", state_of(status)},
                       {"data_id", data_id_of(status.task_json)},
                       {"is_train", status.mode == Mode::train}});
    }
    return json_text(Json{{"items", items}, {"next_after", page.next_after}, {"total_terminal", page.total}});
  };
  Reply reply;
  reply.body = co_await context_.worker.run(size, std::move(make));
  co_return reply;
}

asio::awaitable<OrApiError<Reply>> Api::show_one(std::string name) const {
  auto status = find(name);
  if (!status) co_return no_such_rollout();
  std::vector<Listed> one;
  one.push_back(listed_of(std::move(*status)));
  co_return co_await show(200, Wrapping::detail, std::move(one));
}
}  // namespace corisco::gateway::lightning
