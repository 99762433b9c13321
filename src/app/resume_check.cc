#include "app/resume_check.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "app/harness_files.h"
#include "corisco/base/clock.h"
#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "corisco/config/difference.h"
#include "corisco/config/load.h"

namespace corisco::app {
namespace {
using Json = nlohmann::ordered_json;

// What a run may change between two lives. Everything else, model.threads too, has a part in the numbers,
// in what is sampled or in how an end is judged.
struct FreeKey {
  const char* key;
  const char* why;
};
constexpr const char* kPlace = "says where the run is and what it prints";
constexpr const char* kLength = "the run's length; a schedule that is not constant follows it";
constexpr const char* kContent = "a place; what lies there is compared by its hash";
constexpr const char* kRoom = "room to work in; replies do not depend on it";
constexpr const char* kServing = "how the daemon is reached and protects itself";
constexpr const char* kLimits = "bounds that an orderly rollout does not meet";
constexpr const char* kKeeping = "what is kept, and for how long";
constexpr const char* kLooking = "looks at the run and leaves it as it is";
constexpr FreeKey kFreeKeys[] = {
    {"run.name", kPlace},
    {"run.folder", kPlace},
    {"run.log_level", kPlace},
    {"run.when_done", kPlace},
    {"run.updates", kLength},
    {"model.path", kContent},
    {"rollouts.tasks", kContent},
    {"evaluation.tasks", kContent},
    {"engine.sequences_max", kRoom},
    {"engine.step_tokens_max", kRoom},
    {"engine.kv_memory_mb", kRoom},
    {"engine.queue_max", kRoom},
    {"gateway.listen", kServing},
    {"gateway.unscoped", kServing},
    {"gateway.connections_max", kServing},
    {"gateway.body_bytes_max", kServing},
    {"gateway.header_bytes_max", kServing},
    {"gateway.header_seconds_max", kServing},
    {"gateway.body_seconds_max", kServing},
    {"gateway.idle_seconds_max", kServing},
    {"gateway.write_seconds_max", kServing},
    {"gateway.calls_per_minute_max", kServing},
    {"gateway.hosts", kServing},
    {"gateway.cors_origins", kServing},
    {"gateway.tls_certificate", kServing},
    {"gateway.tls_private_key", kServing},
    {"samples.durability", kKeeping},
    {"samples.retention_days", kKeeping},
    {"samples.undelivered_share_alarm", kLooking},
    {"rollouts.processes_max", kLimits},
    {"rollouts.seconds_max", kLimits},
    {"rollouts.attempts_max", kLimits},
    {"rollouts.infrastructure_failures_max", kLimits},
    {"rollouts.memory_mb_max", kLimits},
    {"rollouts.tree_memory_mb_max", kLimits},
    {"rollouts.tree_processes_max", kLimits},
    {"rollouts.reward.seconds_max", kLimits},
    {"rollouts.output_bytes_max", kKeeping},
    {"trainer.checkpoint_every", kKeeping},
    {"trainer.checkpoints_kept", kKeeping},
    {"coordinator.drain_seconds_max", kLimits},
    {"evaluation.every", kLooking},
    {"evaluation.at_start", kLooking},
    {"evaluation.at_end", kLooking},
    {"metrics.", kLooking},
    {"shutdown.", kKeeping},
};

void compare_config(const std::string& folder, const config::Config& config, std::vector<Change>& changes) {
  const std::string path = folder + "/config.yaml";
  const auto text = files::read(path);
  if (!text.ok()) {
    changes.push_back({"config.yaml", text.error().message, "as given now", false});
    return;
  }
  const auto before = config::parse(text.value(), path, {});
  for (const auto& problem : before.problems)
    changes.push_back({"config.yaml", config::to_string(problem, path), "as given now", false});
  for (const auto& one : config::differences(before.config, config))
    changes.push_back({one.path, one.was, one.is, why_free(one.path) != nullptr});
}

// An empty hash: there is none to compare, now or then.
void compare_hash(const Json& manifest, const char* field, const char* what, const std::string& now, bool is_free,
                  std::vector<Change>& changes) {
  const auto was = manifest.value(field, std::string());
  if (!was.empty() && !now.empty() && was != now)
    changes.push_back({what, cat("SHA-256 ", was), cat("SHA-256 ", now), is_free});
}

// Of what a file imported then and imports now.
void compare_imports(const Json& was, const Json& is, std::vector<Change>& changes) {
  std::set<std::string> names;
  for (const auto* imports : {&was, &is})
    for (const auto& [name, hash] : imports->items()) names.insert(name);
  const auto text_of = [](const Json& imports, const std::string& name) {
    return imports.contains(name) ? cat("SHA-256 ", imports[name].get<std::string>()) : std::string("not imported");
  };
  for (const auto& name : names) {
    const auto then = text_of(was, name), now = text_of(is, name);
    if (then != now) changes.push_back({cat("harness file ", name), then, now, false});
  }
}

// Of files that the config names then and now; that it names others is a difference of the config.
void compare_harness_files(const Json& manifest, const config::Config& config, std::vector<Change>& changes) {
  const auto before = manifest.value("harness_files", Json::object());
  const auto now = harness_files(config);
  for (const auto& [key, file] : now.items()) {
    const auto was = before.find(key);
    const auto hash = was == before.end() ? kMissingFile : was->value("sha256", kMissingFile);
    const auto is = file["sha256"].get<std::string>();
    if (hash == kMissingFile) continue;
    const auto name = file["file"].get<std::string>();
    if (hash != is)
      changes.push_back({cat("harness file ", name), cat("SHA-256 ", hash), cat("SHA-256 ", is), false});
    if (was->contains("imports") && file.contains("imports"))
      compare_imports((*was)["imports"], file["imports"], changes);
  }
}

Result<void> keep(const RunFolder& folder, const config::Config& config, const std::string& tasks_sha256,
                  const std::string& heldout_sha256, const std::vector<Change>& changes) {
  const std::string path = folder.path + "/manifest.json";
  CORISCO_TRY(const std::string text, files::read(path));
  auto manifest = parse_ordered_json(text);
  Json listed = Json::array();
  for (const auto& change : changes) listed.push_back({{"what", change.what}, {"was", change.was}, {"is", change.is}});
  manifest["binary_sha256"] = binary_sha256();
  manifest["config_sha256"] = files::sha256(config::to_yaml(config));
  manifest["tasks_sha256"] = tasks_sha256;
  manifest["heldout_sha256"] = heldout_sha256;
  manifest["harness_files"] = harness_files(config);
  manifest["model_path"] = config.model.path;
  manifest["model_files"] = model_files(config.model.path);
  manifest["changes"].push_back({{"unix_seconds", real_clock().unix_seconds()}, {"changed", listed}});
  CORISCO_CHECK(files::write_atomically(path, json_text(manifest, 2) + "\n"));
  return files::write_atomically(folder.path + "/config.yaml", config::to_yaml(config), 0600);
}

Error refusal(const RunFolder& folder, const std::vector<Change>& changes) {
  std::string text = cat("run ", folder.name, " began with another config, and --resume would mix the two:");
  for (const auto& change : changes)
    if (!change.is_free) text += cat("\n  ", to_text(change));
  text += "\nUndo these, or start a new run without --resume, or add --accept-changes to go on with them.";
  return {Code::conflict, std::move(text)};
}
}  // namespace

std::string to_text(const Change& change) { return cat(change.what, ": ", change.was, " -> ", change.is); }

const char* why_free(const std::string& key) {
  const auto found = std::find_if(std::begin(kFreeKeys), std::end(kFreeKeys), [&](const FreeKey& one) {
    return ends_with(one.key, ".") ? starts_with(key, one.key) : key == one.key;
  });
  return found == std::end(kFreeKeys) ? nullptr : found->why;
}

std::vector<std::string> free_keys() {
  std::vector<std::string> keys;
  for (const auto& one : kFreeKeys) keys.emplace_back(one.key);
  return keys;
}

std::vector<Change> changes_of(const RunFolder& folder, const config::Config& config, const std::string& tasks_sha256,
                               const std::string& heldout_sha256) {
  const auto text = files::read(folder.path + "/manifest.json");
  if (!text.ok()) return {};
  std::vector<Change> changes;
  const auto manifest = parse_ordered_json(text.value());
  if (!manifest.is_object()) {
    changes.push_back({"manifest.json", "damaged", "as given now", false});
    return changes;
  }
  compare_config(folder.path, config, changes);
  // Another build of the daemon goes on, but is told: its numbers may be rounded otherwise.
  compare_hash(manifest, "binary_sha256", "the daemon's own program", binary_sha256(), true, changes);
  compare_hash(manifest, "tasks_sha256", "tasks", tasks_sha256, false, changes);
  compare_hash(manifest, "heldout_sha256", "held-out tasks", heldout_sha256, false, changes);
  compare_harness_files(manifest, config, changes);
  if (const auto same = check_model_files(folder.path, config.model.path); !same.ok())
    changes.push_back({"model", "as manifest.json lists it", same.error().message, false});
  return changes;
}

Result<void> check_resume(const RunFolder& folder, const config::Config& config, const std::string& tasks_sha256,
                          const std::string& heldout_sha256, bool accept_changes) {
  const auto changes = changes_of(folder, config, tasks_sha256, heldout_sha256);
  if (changes.empty()) return {};
  const bool is_refused = std::any_of(changes.begin(), changes.end(), [](const Change& one) { return !one.is_free; });
  if (is_refused && !accept_changes) return refusal(folder, changes);
  for (const auto& change : changes) {
    const char* why = change.is_free ? why_free(change.what) : nullptr;
    const std::string text = cat("changed since the run's last start", change.is_free ? ": " : ", and accepted: ",
                                 to_text(change));
    if (why != nullptr) log::info(cat(text, " (", why, ")"));
    else log::warn(text);
  }
  return keep(folder, config, tasks_sha256, heldout_sha256, changes);
}
}  // namespace corisco::app
