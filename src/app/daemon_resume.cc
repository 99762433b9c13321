// Where a resumed run goes on: at the checkpoint's version, with the groups that the journal has and the
// checkpoint's weights have not learnt from.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>

#include "app/daemon_parts.h"
#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
// The first evaluation's reward, as the checkpoint keeps it or, before the first one, the run's own lines.
std::optional<double> held_out_of(const std::string& restored_extra_json, const std::string& run_folder) {
  const auto kept = parse_json(restored_extra_json);
  const char* const key = "held_out_reward_at_start";
  if (kept.is_object() && kept.contains(key)) return kept[key].get<double>();
  const auto text = files::read(run_folder + "/metrics.jsonl");
  if (!text.ok()) return std::nullopt;
  for (const auto& line : split(text.value(), '\n')) {
    const auto json = parse_json(line);
    const bool is_it = json.is_object() && json.value("kind", "") == "evaluation" && json.value("step", 1) == 0;
    if (is_it && json.contains("held_out_reward")) return json["held_out_reward"].get<double>();
  }
  return std::nullopt;
}

// The siblings of a group that were never opened, since the daemon died as it opened the group.
std::vector<std::uint32_t> never_opened(const samples::UnfinishedGroup& left) {
  std::vector<bool> is_there(left.num_siblings, false);
  for (const auto& rollout : left.finished) is_there[rollout.spec.sibling] = true;
  for (const auto& rollout : left.to_run) is_there[rollout.spec.sibling] = true;
  std::vector<std::uint32_t> missing;
  for (std::uint32_t sibling = 0; sibling < left.num_siblings; ++sibling)
    if (!is_there[sibling]) missing.push_back(sibling);
  return missing;
}
}  // namespace

coordinator::Progress Daemon::Parts::recover() {
  coordinator::Progress progress_from;
  progress_from.version = facts.version;
  if (!recovered) return progress_from;
  auto& found = *recovered;
  held_out_at_start = held_out_of(facts.restored_extra_json, folder.path);
  keep_with_checkpoints();
  if (found.num_updates < facts.num_updates)
    log::warn(cat("the journal lacks ", facts.num_updates - found.num_updates,
                  " updates that the checkpoint has learnt from: their rollouts may be trained once more"));
  controller->set_next_ids(found.next_rollout, found.next_group);
  progress_from.updates_done = updates_made();
  progress_from.next_occurrence = found.next_task_occurrence;
  progress_from.is_saved = facts.has_checkpoint && facts.num_updates == progress_from.updates_done;
  device->set_num_updates(progress_from.updates_done);
  if (facts.has_checkpoint) progress_from.checkpoint = facts.restored_from;
  resumed_groups = ResumedGroups(found, facts.version);
  progress_from.occurrences_to_redo = resumed_groups.occurrences();
  journal->append(samples::RunResumed{facts.version}, {});
  log::info(cat("resumed at version ", facts.version, " from ", facts.restored_from, ": ", resumed_groups.num_whole(),
                " finished groups wait for training, ", resumed_groups.num_unfinished(), " unfinished ones, with ",
                resumed_groups.num_finished_rollouts(), " finished rollouts, go on"));
  return progress_from;
}

// Statistics that every later checkpoint keeps beside the weights.
void Daemon::Parts::keep_with_checkpoints() {
  if (!held_out_at_start) return;
  device->set_checkpoint_extra(json_text(nlohmann::json{{"held_out_reward_at_start", *held_out_at_start}}));
}

Result<coordinator::OpenedGroup> Daemon::Parts::open_group(std::uint64_t occurrence, PolicyVersion opened_at_least) {
  const auto version = coordinator->version();
  auto left = resumed_groups.take(occurrence, version, opened_at_least);
  if (auto* whole = std::get_if<Group>(&left)) {
    const coordinator::OpenedGroup opened{whole->id, std::min(whole->opened_at, version)};
    groups->push(std::make_unique<Group>(std::move(*whole)));
    boost::asio::post(io, [this, id = opened.id] { coordinator->group_complete(id); });
    return opened;
  }
  if (auto* unfinished = std::get_if<samples::UnfinishedGroup>(&left)) return reopen_group(std::move(*unfinished));
  CORISCO_TRY(const GroupId id, controller->open_group(tasks->at(occurrence), occurrence));
  return coordinator::OpenedGroup{id, version};
}

// Its finished rollouts stay; the others run again as new attempts, with the draws of the last ones.
Result<coordinator::OpenedGroup> Daemon::Parts::reopen_group(samples::UnfinishedGroup left) {
  const coordinator::OpenedGroup opened{left.id, std::min(left.opened_at, coordinator->version())};
  rollouts::Task task = tasks->at(left.task_occurrence);
  rollouts::Controller::Unfinished unfinished{left.id, left.task_occurrence, {}, never_opened(left)};
  for (auto& rollout : left.to_run) {
    task = {rollout.spec.task_id, rollout.spec.task_json};
    unfinished.to_run.push_back({std::move(rollout.spec), rollout.next_attempt, rollout.salt});
  }
  if (!left.finished.empty()) task = {left.finished.front().spec.task_id, left.finished.front().spec.task_json};
  Group so_far{left.id, left.task_occurrence, left.opened_at, std::move(left.finished)};
  CORISCO_CHECK(store->reopen_group(std::move(so_far), left.num_siblings));
  CORISCO_CHECK(controller->reopen_group(task, std::move(unfinished)));
  return opened;
}

// A version that was made before the restart and is made again is the same one only if its weights are:
// the number alone does not tell them apart, number and checksum do.
void Daemon::Parts::compare_with_lost(const UpdateReport& report) const {
  if (!recovered || report.was_skipped) return;
  for (const auto& lost : recovered->lost_updates) {
    const bool is_same_number = lost.policy_version == report.policy_version && !lost.was_skipped;
    if (!is_same_number || lost.weights_checksum == 0) continue;
    const auto now = cat("version ", report.policy_version, " was made again after the restart, with ");
    if (lost.weights_checksum == report.weights_checksum) return log::info(cat(now, "the same weights, bit for bit"));
    return log::warn(cat(now, "other weights: then ", hex(lost.weights_checksum), ", now ",
                         hex(report.weights_checksum), "; what was sampled from the former is not trained"));
  }
}
}  // namespace corisco::app
