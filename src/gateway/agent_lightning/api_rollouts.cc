// Rollouts: created, moved and deleted.
#include <utility>

#include "corisco/base/json.h"
#include "gateway/agent_lightning/api.h"

// g++ 12 takes Boost's pair of frame allocators for mismatched when it inlines only one of them.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace corisco::gateway::lightning {
namespace asio = boost::asio;
namespace {
constexpr std::size_t kTextBytesMax = 4096;   // of a job's name or an error's message

ApiError not_movable(const std::string& from, const std::string& to) {
  return from_error({Code::conflict, cat("cannot transition ", from, " -> ", to)});
}

// An object's text; empty if there is none.
std::string object_text(JsonFields& fields, const char* name) {
  const auto* value = fields.find(name);
  if (value == nullptr) return {};
  if (!value->is_object()) fields.refuse(name, "must be an object");
  return json_text(*value);
}

ApiError as_unprocessable(ApiError error) {
  error.status = 422;
  return error;
}

OrApiError<Json> read_list(const std::string& body) {
  constexpr std::size_t kItemsMax = 10000;
  if (exceeds(body, {})) return unprocessable("", "the body is nested too deep");
  auto list = parse_ordered_json(body);
  if (!list.is_array()) return unprocessable("", "the body must be a JSON array of rollouts");
  if (list.size() > kItemsMax) return unprocessable("", cat("the array holds more than ", kItemsMax, " rollouts"));
  return list;
}
}  // namespace

OrApiError<Api::NewRollout> Api::read_new_one(const Json& item) {
  if (!item.is_object()) return unprocessable("", "each rollout must be an object");
  JsonFields fields(item);
  NewRollout wanted;
  const auto* input = fields.find("input");
  if (input == nullptr || !input->is_object())
    return unprocessable("input", "'input' must be an object here: it is the rollout's task");
  wanted.input_json = json_text(*input);
  const bool is_train = fields.flag("is_train", true);
  wanted.record.name = fields.text("rollout_id");
  wanted.record.config_json = object_text(fields, "config");
  wanted.record.metadata_json = object_text(fields, "metadata");
  if (fields.problem()) return as_unprocessable(*fields.problem());
  if (const auto* config = fields.find("config")) {
    JsonFields inner(*config);
    inner.integer("timeout_seconds", 1, 1'000'000'000);
    if (inner.problem()) return as_unprocessable(*inner.problem());
  }
  if (is_train)
    return not_served("'is_train' must be false: training rollouts get their tasks from rollouts.tasks in groups of "
                      "siblings, and are found here by listing those that queue");
  if (!wanted.record.name.empty() && !Records::is_free_form(wanted.record.name))
    return unprocessable("rollout_id", "'rollout_id' must be letters, digits, '.', '_' and '-', not digits alone");
  wanted.record.bytes =
      wanted.input_json.size() + wanted.record.config_json.size() + wanted.record.metadata_json.size();
  return wanted;
}

// All of them, or the first problem.
OrApiError<Api::NewRollouts> Api::read_new(const std::string& body) {
  auto list = read_list(body);
  if (auto* error = std::get_if<ApiError>(&list)) return std::move(*error);
  NewRollouts wanted;
  for (const auto& item : std::get<Json>(list)) {
    auto one = read_new_one(item);
    if (auto* error = std::get_if<ApiError>(&one)) return std::move(*error);
    wanted.push_back(std::move(std::get<NewRollout>(one)));
  }
  return wanted;
}

// A name that is taken gives what it names, so that creating may be retried.
OrApiError<Api::Listed> Api::open(NewRollout wanted) {
  auto& record = wanted.record;
  if (const auto taken = record.name.empty() ? std::nullopt : records_.resolve(record.name)) {
    if (auto status = parts_.rollouts->look(*taken)) return listed_of(std::move(*status));
    records_.forget(*taken);
  }
  const auto is_known = [this](AttemptKey one) { return parts_.rollouts->look(one).has_value(); };
  if (!records_.make_room(1, record.bytes, is_known)) return no_room();
  const auto opened = parts_.rollouts->open_waiting(std::move(wanted.input_json));
  if (!opened.ok()) return from_error(opened.error());
  records_.add(opened.value(), std::move(record));
  auto status = parts_.rollouts->look(opened.value());
  if (!status) return from_error({Code::unavailable, "the rollout has ended already; see the log"});
  return listed_of(std::move(*status));
}

asio::awaitable<OrApiError<Reply>> Api::create(RequestBody body) {
  const auto size = body.num_bytes();
  auto read = [body = std::move(body)] { return read_new(body.text()); };
  auto wanted = co_await context_.worker.run(size, std::move(read));
  if (auto* error = std::get_if<ApiError>(&wanted)) co_return std::move(*error);
  std::vector<Listed> created;
  for (auto& one : std::get<NewRollouts>(wanted)) {
    auto opened = open(std::move(one));
    if (auto* error = std::get_if<ApiError>(&opened)) co_return std::move(*error);
    created.push_back(std::move(std::get<Listed>(opened)));
  }
  co_return co_await show(201, Wrapping::list, std::move(created));
}

OrApiError<Api::Patch> Api::read_patch(const RequestBody& body) {
  const auto parsed = body.json();
  if (const auto* error = std::get_if<ApiError>(parsed.get())) return as_unprocessable(*error);
  const auto& object = std::get<Json>(*parsed);
  const auto found = object.find("status");
  Patch patch;
  if (found == object.end() || found->is_null()) return patch;
  if (!found->is_object()) return unprocessable("status", "'status' must be an object");
  JsonFields fields(*found);
  for (const auto& [name, value] : found->items()) {
    auto* field = name == "state"             ? &patch.state
                  : name == "k8s_job_name"    ? &patch.k8s_job_name
                  : name == "last_attempt_id" ? &patch.last_attempt
                  : name == "error_message"   ? &patch.error_message
                                              : nullptr;
    if (field == nullptr) return unprocessable("status", "'status' has a field that is not known");
    if (value.is_null()) continue;
    *field = fields.text(name.c_str());
    if ((*field)->size() > kTextBytesMax) return unprocessable(name, cat("'", name, "' is too long"));
  }
  if (fields.problem()) return as_unprocessable(*fields.problem());
  if (patch.state && !is_state(*patch.state))
    return unprocessable("status.state", "'state' must be queuing, running, succeeded or failed");
  return patch;
}

std::optional<ApiError> Api::move(const RolloutStatus& status, const Patch& patch) {
  const std::string from = state_of(status), to = *patch.state;
  const bool is_end = to == "succeeded" || to == "failed";
  if (status.state == RolloutState::grading && is_end) return std::nullopt;   // told twice while it is graded
  if (from == "running" && to == from) return std::nullopt;   // its first call came before its controller's word
  const bool can_move = (from == "queuing" && (to == "running" || to == "failed")) || (from == "running" && is_end);
  if (!can_move) return not_movable(from, to);
  if (from == "queuing") {
    if (auto error = start(status.attempt)) return error;
  }
  if (!is_end) return std::nullopt;
  auto& rollouts = *parts_.rollouts;
  const auto reason = patch.error_message.value_or("no reason given");
  const auto attempt = status.attempt;
  const auto ended = to == "failed" ? rollouts.fail_external(attempt, reason) : rollouts.finish_external(attempt);
  if (!ended.ok()) return from_error(ended.error());
  return std::nullopt;
}

// How it stands then.
OrApiError<RolloutStatus> Api::apply(const RolloutStatus& status, Patch patch) {
  if (patch.state) {
    if (auto error = move(status, patch)) return std::move(*error);
  }
  std::size_t bytes = 0;
  for (const auto* text : {&patch.k8s_job_name, &patch.last_attempt, &patch.error_message})
    if (*text) bytes += 1 + (*text)->size();
  if (bytes > 0) {
    auto* record = record_for(status.attempt, bytes);
    if (record == nullptr) return no_room();
    if (patch.k8s_job_name) record->k8s_job_name = std::move(patch.k8s_job_name);
    if (patch.last_attempt) record->last_attempt = std::move(patch.last_attempt);
    if (patch.error_message) record->error_message = std::move(patch.error_message);
    ++record->num_patches;
    record->patched_unix_seconds = parts_.clock->unix_seconds();
  }
  return parts_.rollouts->look(status.attempt).value_or(status);
}

asio::awaitable<OrApiError<Reply>> Api::patch(std::string name, RequestBody body) {
  auto read = read_patch(body);
  if (auto* error = std::get_if<ApiError>(&read)) co_return std::move(*error);
  const auto status = find(name);
  if (!status) co_return no_such_rollout();
  auto& patch = std::get<Patch>(read);
  const bool ends = patch.state == "succeeded" || patch.state == "failed";
  auto applied = apply(*status, std::move(patch));
  if (auto* error = std::get_if<ApiError>(&applied)) co_return std::move(*error);
  if (ends) {
    const auto kept = co_await parts_.calls->settle();
    if (!kept.ok()) co_return from_error(kept.error());
  }
  std::vector<Listed> one;
  one.push_back(listed_of(std::move(std::get<RolloutStatus>(applied))));
  co_return co_await show(200, Wrapping::bare, std::move(one));
}

OrApiError<Reply> Api::drop(const std::string& name) {
  if (const auto attempt = records_.resolve(name)) {
    if (parts_.rollouts->look(*attempt)) {
      const auto dropped = parts_.rollouts->drop_external(*attempt);
      if (!dropped.ok()) return from_error(dropped.error());
    }
    records_.forget(*attempt);
  }
  Reply reply;
  reply.status = 204;
  reply.content_type.clear();
  return reply;
}
}  // namespace corisco::gateway::lightning
