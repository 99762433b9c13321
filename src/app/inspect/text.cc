#include "app/inspect/text.h"

#include <algorithm>
#include <filesystem>

#include "app/inspect/text_table.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
std::string optional_text(const std::optional<double>& value) { return value ? fixed(*value, 4) : "-"; }

std::string why_dropped(const RolloutHistory& rollout) {
  std::string text;
  for (const auto& [reason, count] : rollout.dropped) text += cat("  ", reason, " ", count.tokens);
  return text;
}

// Where its tokens are: "trained in 3  undelivered 12".
std::string place_of(const RunHistory& history, const RolloutHistory& rollout) {
  std::string fate = rollout.fate;
  if (fate == "trained") fate += cat(" in ", history.updates[*rollout.update].made.record.policy_version);
  return std::string(trim(fate + why_dropped(rollout)));
}

TextTable rollouts_table(const RunHistory& history) {
  TextTable table({"rollout", "group", "mode", "attempts", "reward", "advantage", "calls", "rows", "sampled",
                   "learnable", "outcome", "task", "tokens are"});
  for (const auto& [id, rollout] : history.rollouts) {
    const auto& spec = rollout.spec;
    table.add({cat(id), spec.group ? cat(spec.group) : "-", to_string(spec.mode), cat(rollout.num_attempts),
               optional_text(rollout.reward), optional_text(rollout.advantage), cat(rollout.sampled.calls),
               cat(rollout.num_rows), cat(rollout.sampled.tokens), cat(rollout.learnable.tokens),
               rollout.outcome ? to_string(*rollout.outcome) : "open", spec.task_id, place_of(history, rollout)});
  }
  return table;
}

std::string note_of(const UpdateSummary& update) {
  if (update.made.is_void) return "void: a resume left it";
  if (update.made.record.was_skipped) return "skipped: the weights stayed";
  if (update.checkpoint.empty()) return "";
  return cat("saved in ", std::filesystem::path(update.checkpoint).filename().string());
}

TextTable updates_table(const RunHistory& history) {
  TextTable table({"version", "groups", "rollouts", "trained", "reward", "weights", "", "of groups"});
  for (const auto& update : history.updates) {
    const auto& record = update.made.record;
    std::vector<std::string> ids;
    for (const auto group : record.groups) ids.push_back(cat(group));
    const bool counts = !update.made.is_void;
    table.add({cat(record.policy_version), cat(record.groups.size()), counts ? cat(update.num_rollouts) : "-",
               counts ? cat(update.num_trained_tokens) : "-", counts ? fixed(update.reward_mean, 4) : "-",
               record.weights_checksum == 0 ? "-" : hex(record.weights_checksum), note_of(update), join(ids, " ")});
  }
  return table;
}

std::string accounts_text(const RunHistory& history) {
  TextTable table({"", "calls", "tokens"});
  const auto add = [&](const std::string& name, const Count& count) {
    table.add({name, cat(count.calls), cat(count.tokens)});
  };
  add("produced", history.produced);
  add("trained", history.trained);
  add("waiting", history.waiting);
  for (const auto& [reason, count] : history.dropped) add("dropped: " + reason, count);
  std::string text = "accounts\n" + table.text();
  const auto sum = history.accounted();
  text += history.balances() ? "they balance: produced = trained + waiting + dropped\n" : "THEY DO NOT BALANCE\n";
  if (sum != history.produced)
    text += cat("  ", sum.calls, " calls and ", sum.tokens, " tokens are accounted for\n");
  for (const auto& problem : history.problems) text += cat("  ", problem, "\n");
  return text;
}
}  // namespace

std::string to_text(const RunHistory& history, const std::string& folder) {
  std::string text = cat("run ", history.read.run_id, "  ", folder, "  ",
                         history.is_running ? "a daemon runs it" : "no daemon runs it", "  ", history.read.num_records,
                         " records");
  if (history.read.torn_bytes > 0) text += cat(", ", history.read.torn_bytes, " bytes of an unfinished one at the end");
  return cat(text, "\n\nrollouts\n", rollouts_table(history).text(), "\nupdates\n", updates_table(history).text(), "\n",
             accounts_text(history));
}
}  // namespace corisco::app
