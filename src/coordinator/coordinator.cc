#include "corisco/coordinator/coordinator.h"

#include <algorithm>
#include <utility>

#include "corisco/base/log.h"
#include "corisco/base/strings.h"

namespace corisco::coordinator {
namespace {
constexpr std::size_t kCheckpointAskersMax = 256;
}

Coordinator::Coordinator(boost::asio::io_context& io, const Clock& clock, Gate& gate, Device& device,
                         metrics::Registry& metrics, Plan plan, CoordinatorPorts ports)
    : clock_(clock), gate_(gate), device_(device), metrics_(metrics), plan_(plan),
      ports_(std::move(ports)), phase_since_(clock.now()), window_(plan.window), drain_deadline_(io) {}

void Coordinator::start(const Progress& from) {
  version_ = from.version;
  updates_done_ = from.updates_done;
  next_occurrence_ = from.next_occurrence;
  occurrences_to_redo_ = from.occurrences_to_redo;
  if (from.is_saved) saved_at_ = static_cast<std::int64_t>(updates_done_);
  if (!from.checkpoint.empty()) last_checkpoint_ = Checkpoint{version_, from.checkpoint};
  metrics_.gauge("corisco_coordinator_policy_version").set(static_cast<double>(version_.value));
  move_to(Phase::generating);
  proceed();
}

void Coordinator::group_complete(GroupId id) {
  if (is_over()) return;
  window_.complete(id);
  proceed();
}

void Coordinator::set_paused(bool paused) {
  if (is_paused_ == paused || is_over()) return;
  is_paused_ = paused;
  log::info(paused ? "paused: requests wait at the gate" : "resumed");
  if (phase_ != Phase::generating) return;
  if (paused) {
    gate_.shut();
  } else {
    gate_.open();
    proceed();
  }
}

// While generating: evaluation first, then an update if one can be made, then new groups.
void Coordinator::proceed() {
  if (phase_ != Phase::generating || is_paused_ || is_evaluating_) return;
  if (start_evaluation_if_due()) return;
  if (plan_.updates == 0) return;
  if (updates_done_ >= plan_.updates) return finish_run();
  start_update_if_ready();
  if (phase_ == Phase::generating) fill_window();
}

bool Coordinator::start_evaluation_if_due() {
  const auto done = static_cast<std::int64_t>(updates_done_);
  if (evaluated_at_ == done) return false;
  const bool at_start = done == 0 && plan_.evaluate_at_start;
  const bool at_end = updates_done_ >= plan_.updates && plan_.evaluate_at_end && plan_.updates > 0;
  const bool on_the_way = plan_.evaluate_every > 0 && done > 0 && updates_done_ % plan_.evaluate_every == 0 &&
                          updates_done_ < plan_.updates;
  if (!at_start && !at_end && !on_the_way) return false;
  evaluated_at_ = done;
  is_evaluating_ = true;
  ports_.evaluate(version_, [this, begin = clock_.now()] {
    is_evaluating_ = false;
    not_generating_ += seconds_between(begin, clock_.now());
    proceed();
  });
  return true;
}

void Coordinator::fill_window() {
  const std::uint64_t still_needed = (plan_.updates - updates_done_) * plan_.window.groups_per_update;
  while (window_.num_free_slots() > 0 && opened_for_updates_ < still_needed) {
    const auto occurrence = take_occurrence();
    if (!occurrence) return;
    auto opened = ports_.open_group(*occurrence, window_.earliest_that_fits(version_));
    if (!opened.ok()) return fail(opened.error().message);
    window_.open(opened.value().id, *occurrence, opened.value().opened_at);
    ++opened_for_updates_;
  }
}

// Those to redo come before new ones. None: all of them are for later, and the next update can do without.
std::optional<std::uint64_t> Coordinator::take_occurrence() {
  if (occurrences_to_redo_.empty()) return next_occurrence_++;
  auto next = std::find_if_not(occurrences_to_redo_.begin(), occurrences_to_redo_.end(), ports_.is_for_later);
  if (next == occurrences_to_redo_.end()) {
    if (window_.num_active() >= plan_.window.groups_per_update) return std::nullopt;
    next = occurrences_to_redo_.begin();
  }
  const auto occurrence = *next;
  occurrences_to_redo_.erase(next);
  return occurrence;
}

void Coordinator::start_update_if_ready() {
  auto chosen = window_.choose(version_);
  if (!chosen) return;
  in_update_ = std::move(*chosen);
  drain();
}

// Draining: new requests wait at the gate; running ones finish, or are suspended by quiesce at the deadline.
void Coordinator::drain() {
  move_to(Phase::draining);
  gate_.shut();
  auto proceed_once = [this] {
    if (phase_ != Phase::draining) return;
    drain_deadline_.cancel();
    device_.quiesce([this] { train(); });
  };
  drain_deadline_.expires_after(std::chrono::seconds(plan_.drain_seconds_max));
  drain_deadline_.async_wait([this, proceed_once](boost::system::error_code error) {
    if (error || phase_ != Phase::draining) return;
    log::warn(cat(gate_.num_inside(), " requests still run at the drain's deadline: they go on after the update"));
    gate_.when_empty(nullptr);
    proceed_once();
  });
  gate_.when_empty(proceed_once);
}

void Coordinator::train() {
  if (phase_ != Phase::draining) return;
  move_to(Phase::training);
  device_.train(in_update_, [this] { publish(); });
}

void Coordinator::publish() {
  if (phase_ != Phase::training) return;
  move_to(Phase::publishing);
  device_.publish([this](UpdateReport report) { published(report); });
}

void Coordinator::published(const UpdateReport& report) {
  if (phase_ != Phase::publishing) return;
  version_ = report.policy_version;
  ++updates_done_;
  window_.release(in_update_);
  opened_for_updates_ -= in_update_.size();
  metrics_.gauge("corisco_coordinator_policy_version").set(static_cast<double>(version_.value));
  // Phases are counted up to here: the report's line stands for the whole update.
  seconds_.publishing += seconds_between(phase_since_, clock_.now());
  // Before its checkpoint: a run that resumes from that must find what was trained.
  ports_.on_update(report, seconds_, in_update_);
  save_if_due();
  in_update_.clear();
  seconds_ = {};
  phase_since_ = clock_.now();
  reopen();
}

// The run's own, and one that was asked for during the update.
void Coordinator::save_if_due() {
  const bool on_the_way = plan_.checkpoint_every > 0 && updates_done_ % plan_.checkpoint_every == 0;
  if ((on_the_way && updates_done_ < plan_.updates) || !checkpoint_askers_.empty()) save();
}

// A device executes in order: what is asked for while draining is saved before the update begins to train.
void Coordinator::checkpoint(OnCheckpoint done) {
  if (phase_ == Phase::starting || is_over())
    return done(Error{Code::unavailable, cat("no checkpoint is begun in the daemon's phase ", to_string(phase_))});
  if (last_checkpoint_ && last_checkpoint_->version == version_)
    return done(Checkpoint{version_, last_checkpoint_->folder, true});
  if (checkpoint_askers_.size() >= kCheckpointAskersMax)
    return done(Error{Code::overloaded, cat(kCheckpointAskersMax, " requests wait for this checkpoint already")});
  checkpoint_askers_.push_back(std::move(done));
  const bool is_within_update = phase_ == Phase::training || phase_ == Phase::publishing;
  if (!is_saving_ && !is_within_update) save();
}

void Coordinator::save() {
  is_saving_ = true;
  device_.save([this, version = version_, updates_done = updates_done_](Result<std::string> folder) {
    saved(version, updates_done, folder);
  });
}

void Coordinator::saved(PolicyVersion version, std::uint64_t updates_done, const Result<std::string>& folder) {
  is_saving_ = false;
  ports_.on_checkpoint(version, folder);
  if (folder.ok()) {
    saved_at_ = static_cast<std::int64_t>(updates_done);
    last_checkpoint_ = Checkpoint{version, folder.value()};
    answer_askers(*last_checkpoint_);
  } else {
    // Never the asker's fault.
    const auto code = folder.error().code == Code::unavailable ? Code::unavailable : Code::internal;
    answer_askers(Error{code, cat("no checkpoint was written at version ", version, ", the last one stays: ",
                                  folder.error().message)});
  }
  if (!is_finished_) return;
  if (!folder.ok()) return fail(cat("the last checkpoint could not be written: ", folder.error().message));
  ports_.on_done();
}

void Coordinator::answer_askers(const Result<Checkpoint>& answer) {
  for (const auto& done : std::exchange(checkpoint_askers_, {})) done(answer);
}

void Coordinator::reopen() {
  device_.resume();
  move_to(Phase::generating);
  if (!is_paused_) gate_.open();
  proceed();
}

void Coordinator::finish_run() {
  if (is_finished_) return;
  is_finished_ = true;
  if (saved_at_ == static_cast<std::int64_t>(updates_done_)) return ports_.on_done();
  if (!is_saving_) save();
}

void Coordinator::stop() {
  if (!is_over()) move_to(Phase::stopping);
  drain_deadline_.cancel();
  if (!is_saving_) answer_askers(Error{Code::unavailable, "no checkpoint was written: the daemon stops"});
}

void Coordinator::fail(const std::string& reason) {
  if (is_over()) return;
  move_to(Phase::failed);
  ports_.on_failed(reason);
}

bool Coordinator::is_over() const { return phase_ == Phase::stopping || phase_ == Phase::failed; }

void Coordinator::move_to(Phase next) {
  CORISCO_ASSERT(can_move(phase_, next), cat(to_string(phase_), " -> ", to_string(next)));
  const auto now = clock_.now();
  const double spent = seconds_between(phase_since_, now);
  switch (phase_) {
    case Phase::generating:              // an evaluation's time is not the next update's
      seconds_.generating += spent - std::exchange(not_generating_, 0.0);
      break;
    case Phase::draining: seconds_.draining += spent; break;
    case Phase::training: seconds_.training += spent; break;
    case Phase::publishing: seconds_.publishing += spent; break;
    case Phase::starting:
    case Phase::stopping:
    case Phase::failed: break;
  }
  metrics_.counter("corisco_coordinator_phase_seconds_total", {to_string(phase_)}).add(spent);
  metrics_.gauge("corisco_coordinator_phase", {to_string(phase_)}).set(0);
  metrics_.gauge("corisco_coordinator_phase", {to_string(next)}).set(1);
  log::debug(cat("phase ", to_string(phase_), " -> ", to_string(next), " after ", fixed(spent, 2), " s"));
  phase_ = next;
  phase_since_ = now;
}
}  // namespace corisco::coordinator
