#include "app/inspect/run_history.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "app/inspect/rollout_reader.h"
#include "app/train_batch.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
class Gathering {
 public:
  explicit Gathering(const HistoryOptions& options) : options_(options), reader_(ports()) {
    history_.is_running = options.is_running;
  }

  void add(const samples::Record& record) {
    updates_.add(record);
    if (const auto* opened = std::get_if<samples::GroupOpened>(&record)) take(*opened);
    if (const auto* opened = std::get_if<samples::RolloutOpened>(&record)) take(*opened);
    if (const auto* started = std::get_if<samples::AttemptStarted>(&record)) take(*started);
    if (const auto* recorded = std::get_if<samples::CallRecorded>(&record)) take(*recorded);
    reader_.add(record);
  }

  RunHistory finish(const samples::ReadReport& read) {
    history_.read = read;
    reader_.drop_open(options_.is_running ? kWaiting : "daemon_died");
    for (const auto& made : updates_.updates()) history_.updates.push_back({made, {}});
    for (std::size_t i = 0; i < history_.updates.size(); ++i) consume(i);
    for (auto& [id, rollout] : history_.rollouts) account(rollout);
    const auto place = [](const Call& call) { return std::tie(call.attempt, call.turn, call.choice); };
    std::stable_sort(history_.kept_calls.begin(), history_.kept_calls.end(),
                     [&](const auto& a, const auto& b) { return place(a.call) < place(b.call); });
    return std::move(history_);
  }

 private:
  static constexpr const char* kWaiting = "waiting";

  RolloutReaderPorts ports() {
    RolloutReaderPorts ports;
    ports.on_group = [this](std::unique_ptr<Group> group) { take(std::move(*group)); };
    ports.on_evaluated = [this](FinishedRollout finished) {
      note_end(finished);
      for (auto& call : finished.calls) drop(call, "validation");
    };
    ports.on_alone = [this](const FinishedRollout& finished) { learn(finished); };
    ports.on_stopped = [this](const FinishedRollout& finished) { note_end(finished); };
    ports.on_dropped = [this](const Call& call, const char* reason) { drop(call, reason); };
    ports.on_removed = [this](const samples::CallRecorded& recorded) {
      dropped_of(recorded.call)["removed"].add(recorded.removed_tokens);
      keep(recorded.call, {}, "removed");
    };
    ports.on_problem = [this](const std::string& problem) { history_.problems.push_back(problem); };
    return ports;
  }

  void take(const samples::GroupOpened& opened) {
    history_.groups[opened.group].opened = opened;
    const auto [earlier, is_first] = by_occurrence_.try_emplace(opened.task_occurrence, opened.group);
    if (is_first) return;
    history_.groups[earlier->second].is_superseded = true;
    earlier->second = opened.group;
  }

  void take(const samples::RolloutOpened& opened) {
    auto& rollout = history_.rollouts[opened.spec.id];
    rollout.spec = opened.spec;
    if (opened.spec.id != options_.kept) rollout.spec.task_json.clear();
    if (opened.spec.mode == Mode::train)
      history_.groups[opened.spec.group].rollouts[opened.spec.sibling] = opened.spec.id;
  }

  void take(const samples::AttemptStarted& started) {
    auto& rollout = history_.rollouts[started.attempt.rollout];
    rollout.num_attempts = started.attempt.attempt;
    rollout.outcome.reset();               // of an end by the daemon's stop
  }

  void take(const samples::CallRecorded& recorded) {
    const auto& call = recorded.call;
    const auto num_tokens = call.tokens.size() + recorded.removed_tokens;
    history_.produced.add(num_tokens);
    if (!calls_.insert(call.id.value).second)
      history_.problems.push_back(cat("call ", call.id, " is in the journal twice"));
    if (call.attempt.rollout) history_.rollouts[call.attempt.rollout].sampled.add(num_tokens);
  }

  void take(Group group) {
    std::vector<double> rewards;
    std::vector<bool> is_valid;
    for (const auto& finished : group.rollouts) {
      learn(finished);
      is_valid.push_back(samples::is_trained(finished));
      rewards.push_back(is_valid.back() ? *finished.reward : 0);
    }
    history_.groups[group.id].is_complete = true;
    const auto advantages = trainer::group_advantages(rewards, is_valid, options_.advantage);
    for (std::size_t i = 0; i < advantages.size(); ++i)
      if (is_valid[i]) history_.rollouts[group.rollouts[i].spec.id].advantage = advantages[i];
  }

  RolloutHistory& note_end(const FinishedRollout& finished) {
    auto& rollout = history_.rollouts[finished.spec.id];
    rollout.outcome = finished.outcome;
    rollout.reward = finished.reward;
    rollout.note = finished.reward_note;
    rollout.seconds = finished.seconds;
    return rollout;
  }

  // The trainer's own merge says which of its tokens have a loss.
  void learn(const FinishedRollout& finished) {
    auto& rollout = note_end(finished);
    rollout.is_valid = samples::is_trained(finished);
    const auto merged = samples::merge(finished, merge_level(options_.samples), merge_limits(options_.samples));
    rollout.num_rows = static_cast<std::uint32_t>(merged.rows.size());
    for (const auto& account : merged.accounts) {
      const auto call = std::find_if(finished.calls.begin(), finished.calls.end(),
                                     [&](const Call& one) { return one.id == account.call; });
      if (account.branch < 0) {
        const bool is_empty = account.reason == samples::UntrainedReason::none;
        drop(*call, is_empty ? "no_tokens" : samples::to_string(account.reason), account);
      } else {
        rollout.learnable.add(account.num_tokens);
        keep(*call, account, "");
      }
    }
  }

  void drop(const Call& call, const std::string& reason, const samples::CallAccount& account = {}) {
    dropped_of(call)[reason].add(call.tokens.size());
    keep(call, account, reason);
  }

  std::map<std::string, Count>& dropped_of(const Call& call) {
    const auto rollout = history_.rollouts.find(call.attempt.rollout);
    return rollout == history_.rollouts.end() ? history_.dropped : rollout->second.dropped;
  }

  void keep(const Call& call, const samples::CallAccount& account, const std::string& dropped) {
    if (call.attempt.rollout == options_.kept && options_.kept) history_.kept_calls.push_back({call, account, dropped});
  }

  void consume(std::size_t index) {
    auto& update = history_.updates[index];
    const auto& record = update.made.record;
    if (update.made.is_void) return;
    if (!record.was_skipped) update.checkpoint = updates_.checkpoint_of(record.policy_version);
    double rewards = 0;
    for (const auto id : record.groups) {
      auto& group = history_.groups[id];
      if (!group.is_complete) history_.problems.push_back(cat("an update consumed group ", id, ", which is not whole"));
      if (group.update) history_.problems.push_back(cat("two updates consumed group ", id));
      group.update = index;
      for (const auto& [sibling, rollout_id] : group.rollouts) {
        const auto& rollout = history_.rollouts[rollout_id];
        if (!rollout.is_valid) continue;
        ++update.num_rollouts;
        rewards += *rollout.reward;
        if (!record.was_skipped) update.num_trained_tokens += rollout.learnable.tokens;
      }
    }
    if (update.num_rollouts > 0) update.reward_mean = rewards / update.num_rollouts;
  }

  Fate fate_of(const GroupHistory& group) const {
    if (group.update) return history_.updates[*group.update].made.record.was_skipped ? "update_skipped" : "trained";
    return group.is_superseded ? "group_superseded" : kWaiting;
  }

  void account(RolloutHistory& rollout) {
    for (const auto& [reason, count] : rollout.dropped) {
      if (reason == kWaiting) history_.waiting += count;
      else history_.dropped[reason] += count;
    }
    if (rollout.spec.mode == Mode::val) return;
    const auto& group = history_.groups[rollout.spec.group];
    rollout.update = group.update;
    if (rollout.learnable.calls == 0) return;
    rollout.fate = fate_of(group);
    if (rollout.fate == "trained") history_.trained += rollout.learnable;
    else if (rollout.fate == kWaiting) history_.waiting += rollout.learnable;
    else history_.dropped[rollout.fate] += rollout.learnable;
  }

  const HistoryOptions options_;
  RunHistory history_;
  UpdateHistory updates_;
  RolloutReader reader_;
  std::map<std::uint64_t, GroupId> by_occurrence_;
  std::unordered_set<std::uint64_t> calls_;   // ids
};
}  // namespace

Count RunHistory::accounted() const {
  Count sum = trained;
  sum += waiting;
  for (const auto& [reason, count] : dropped) sum += count;
  return sum;
}

Result<RunHistory> gather_history(const samples::RecordSource& source, const HistoryOptions& options) {
  Gathering gathering(options);
  CORISCO_TRY(const samples::ReadReport read, source([&](const samples::Record& record) { gathering.add(record); }));
  return gathering.finish(read);
}
}  // namespace corisco::app
