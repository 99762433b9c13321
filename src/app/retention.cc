#include "app/retention.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "corisco/base/log.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
constexpr double kDaySeconds = 86400;

// Of "step-000012" or "step-000012-2".
std::optional<std::uint64_t> version_of(const std::string& name) {
  constexpr std::string_view kStep = "step-";
  if (!starts_with(name, kStep)) return std::nullopt;
  std::uint64_t version = 0;
  const auto [end, problem] = std::from_chars(name.data() + kStep.size(), name.data() + name.size(), version);
  return problem == std::errc{} ? std::optional(version) : std::nullopt;
}

void report(const Result<samples::Removed>& removed) {
  if (!removed.ok()) {
    if (removed.error().code != Code::cancelled)
      log::warn(cat("old content stays in the journal: ", removed.error().message));
    return;
  }
  if (removed.value().num_records == 0) return;
  log::info(cat("samples.retention_days: ", removed.value().num_records, " records lost their content, the journal ",
                removed.value().bytes, " bytes"));
}
}  // namespace

PolicyVersion oldest_checkpoint(const std::string& folder) {
  std::optional<std::uint64_t> oldest;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const auto version = version_of(entry.path().filename().string());
    if (version) oldest = std::min(*version, oldest.value_or(*version));
  }
  return PolicyVersion{oldest.value_or(0)};
}

void DailyRemoval::tick() {
  if (days_ == 0 || clock_.now() < next_) return;
  next_ = clock_.now() + std::chrono::hours(24);
  journal_.remove_old({clock_.unix_seconds() - kDaySeconds * days_, oldest_checkpoint(checkpoint_folder_)}, report);
}
}  // namespace corisco::app
