#include "corisco/rollouts/controller.h"

#include <boost/asio/post.hpp>
#include <cmath>
#include <filesystem>
#include <utility>

#include "corisco/base/assert.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "rollouts/controller_state.h"

namespace corisco::rollouts {
namespace {
constexpr std::chrono::milliseconds kLookAgain{100};   // time limits are kept to about this
constexpr std::uint32_t kTimeoutGraceMs = 2000;

std::string absolute(const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}
}  // namespace

Controller::State::State(ControllerParts given) : parts(std::move(given)), timer(*parts.io) {
  // Harnesses run in folders of their own: every path that they get is absolute.
  parts.run_folder = absolute(parts.run_folder);
  config_folder = std::filesystem::path(absolute(parts.config->file)).parent_path().string();
}

Result<void> Controller::State::open(OpenRollout rollout) {
  CORISCO_CHECK(parts.ports.open_rollout(rollout.spec));
  take_in(std::move(rollout));
  return {};
}

void Controller::State::take_in(OpenRollout rollout) {
  rollout.since = parts.clock->now();
  rollout.opened_unix_seconds = rollout.changed_unix_seconds = parts.clock->unix_seconds();
  rollouts.emplace(rollout.spec.id, std::move(rollout));
  schedule();
}

Result<void> Controller::State::open_sibling(const Task& task, GroupId group, std::uint64_t occurrence,
                                             std::uint32_t sibling) {
  OpenRollout rollout;
  rollout.spec = {RolloutId{next_rollout++}, group, occurrence, sibling, Mode::train, task.id, task.json};
  rollout.is_external = parts.config->rollouts.harness.external;
  return open(std::move(rollout));
}

Result<void> Controller::State::reopen(Controller::Unfinished::Rollout left) {
  OpenRollout rollout;
  rollout.attempt = left.attempt;
  rollout.attempts_before = left.attempt - 1;
  if (rollout.attempts_before > 0) rollout.kept_salt = left.salt;
  rollout.is_external = parts.config->rollouts.harness.external;
  CORISCO_CHECK(parts.ports.reopen_rollout(left.spec, rollout.attempts_before));
  rollout.spec = std::move(left.spec);
  take_in(std::move(rollout));
  return {};
}

void Controller::State::schedule() {
  if (std::exchange(is_look_posted, true)) return;
  boost::asio::post(*parts.io, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look();
  });
}

// Consumes what changed since the last look (openings, ends, time); produces starts and kills;
// unblocked by schedule() and the timer.
void Controller::State::look() {
  is_look_posted = false;
  const auto& config = parts.config->rollouts;
  const Bounds bounds{config.processes_max, config.seconds_max, config.reward.seconds_max};
  if (!is_stopping) {
    for (const Step& step : reconcile(see(), bounds, parts.clock->now())) {
      std::visit([this](const auto& one) { do_step(one); }, step);
    }
  }
  parts.metrics->gauge("corisco_rollouts_running").set(static_cast<double>(num_running()));
  parts.metrics->gauge("corisco_rollouts_open").set(static_cast<double>(rollouts.size()));
  if (!rollouts.empty()) {
    arm_timer();
  } else if (is_stopping && on_stopped) {
    std::exchange(on_stopped, nullptr)();
  }
}

void Controller::State::arm_timer() {
  if (std::exchange(is_timer_armed, true)) return;
  timer.expires_after(kLookAgain);
  timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!self || error) return;
    self->is_timer_armed = false;
    self->look();
  });
}

std::vector<Seen> Controller::State::see() const {
  std::vector<Seen> seen;
  const auto now = parts.clock->now();
  for (const auto& [id, rollout] : rollouts) {
    Seen one{rollout.key(), rollout.state, rollout.is_external, rollout.is_ending, rollout.since, 0};
    const bool is_near = rollout.state == RolloutState::running && !rollout.is_ending &&
                         seconds_between(rollout.since, now) > parts.config->rollouts.seconds_max;
    if (is_near) one.held_seconds = parts.ports.look_at_attempt(rollout.key()).held_seconds;
    seen.push_back(one);
  }
  return seen;
}

void Controller::State::do_step(const StartAttempt& step) {
  if (OpenRollout* rollout = find(step.attempt)) start_attempt(*rollout);
}

void Controller::State::do_step(const EndForTime& step) {
  OpenRollout* rollout = find(step.attempt);
  if (rollout == nullptr || rollout->is_ending) return;
  rollout->is_ending = true;
  rollout->was_timed_out = true;
  if (rollout->state == RolloutState::grading) {
    parts.sandbox->kill(step.attempt, 0);
    return;
  }
  close_attempt(*rollout);
  if (rollout->is_external) {
    on_harness_end(*rollout, {step.attempt, ProcessEnd::How::killed, 0, {}});
  } else {
    parts.sandbox->kill(step.attempt, kTimeoutGraceMs);
  }
}

OpenRollout* Controller::State::find(AttemptKey attempt) {
  const auto found = rollouts.find(attempt.rollout);
  if (found == rollouts.end() || found->second.attempt != attempt.attempt) return nullptr;
  return &found->second;
}

void Controller::State::move(OpenRollout& rollout, RolloutState to) {
  CORISCO_ASSERT(can_move(rollout.state, to), cat("rollout ", rollout.spec.id, " from ",
                                                  to_string(rollout.state), " to ", to_string(to)));
  rollout.state = to;
  rollout.since = parts.clock->now();
  rollout.changed_unix_seconds = parts.clock->unix_seconds();
}

std::size_t Controller::State::num_running() const {
  std::size_t count = 0;
  for (const auto& [id, rollout] : rollouts) {
    if (rollout.state == RolloutState::running && !rollout.is_external) ++count;
  }
  return count;
}

Controller::Controller(ControllerParts parts)
    : state_(std::make_shared<State>(std::move(parts))) {}
Controller::~Controller() = default;

Result<GroupId> Controller::open_group(const Task& task, std::uint64_t occurrence) {
  if (state_->is_stopping) return Error{Code::cancelled, "the daemon is stopping"};
  const GroupId group{state_->next_group++};
  const std::uint32_t num_siblings = state_->parts.config->rollouts.group_size;
  CORISCO_CHECK(state_->parts.ports.open_group(group, occurrence, num_siblings));
  for (std::uint32_t sibling = 0; sibling < num_siblings; ++sibling) {
    CORISCO_CHECK(state_->open_sibling(task, group, occurrence, sibling));
  }
  return group;
}

Result<void> Controller::reopen_group(const Task& task, Unfinished unfinished) {
  if (state_->is_stopping) return Error{Code::cancelled, "the daemon is stopping"};
  for (auto& left : unfinished.to_run) CORISCO_CHECK(state_->reopen(std::move(left)));
  for (const std::uint32_t sibling : unfinished.to_open) {
    CORISCO_CHECK(state_->open_sibling(task, unfinished.group, unfinished.occurrence, sibling));
  }
  return {};
}

Result<RolloutId> Controller::open_validation(const Task& task, std::uint64_t occurrence,
                                              std::uint32_t repeat) {
  if (state_->is_stopping) return Error{Code::cancelled, "the daemon is stopping"};
  const RolloutId id{state_->next_rollout++};
  OpenRollout rollout;
  rollout.spec = {id, GroupId{}, occurrence, repeat, Mode::val, task.id, task.json};
  rollout.is_external = state_->parts.config->rollouts.harness.external;
  CORISCO_CHECK(state_->open(std::move(rollout)));
  return id;
}

Result<void> Controller::post_reward(AttemptKey attempt, double value, std::string note) {
  OpenRollout* rollout = state_->find(attempt);
  const auto which = cat("rollout ", attempt.rollout, " attempt ", attempt.attempt);
  if (rollout == nullptr || rollout->state != RolloutState::running || rollout->is_ending) {
    return Error{Code::conflict, cat(which, " does not run: its reward comes too late")};
  }
  const std::string& source = state_->parts.config->rollouts.reward.source;
  const bool takes_event = source == "event" || (rollout->is_external && source == "file");
  if (!takes_event) {
    return Error{Code::conflict, cat("rollouts.reward.source is ", source,
                                     ": a posted reward is not taken; set it to event")};
  }
  if (!std::isfinite(value)) {
    return Error{Code::invalid_argument, cat("a reward must be a finite number, not ", value)};
  }
  if (rollout->posted) return Error{Code::conflict, cat(which, " has a reward already")};
  rollout->posted = Reward{value, std::move(note)};
  return {};
}

void Controller::set_next_ids(std::uint64_t rollout, std::uint64_t group) {
  state_->next_rollout = rollout + 1;
  state_->next_group = group + 1;
}

std::size_t Controller::num_running() const { return state_->num_running(); }
std::size_t Controller::num_open() const { return state_->rollouts.size(); }

void Controller::stop(std::function<void()> done) {
  state_->is_stopping = true;
  state_->on_stopped = std::move(done);
  std::vector<RolloutId> open;
  for (const auto& [id, rollout] : state_->rollouts) open.push_back(id);
  for (const RolloutId id : open) {
    const auto found = state_->rollouts.find(id);
    if (found != state_->rollouts.end()) state_->cancel(found->second, "the daemon is stopping");
  }
  state_->schedule();
}
}  // namespace corisco::rollouts
