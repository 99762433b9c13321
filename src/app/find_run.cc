#include "app/find_run.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/run_folder.h"
#include "corisco/base/files.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace fs = std::filesystem;
namespace {
constexpr const char* kJournal = "journal.bin";
constexpr const char* kRuns = "runs";    // run.folder's default

bool has_journal(const fs::path& folder) {
  std::error_code unknown;
  return fs::exists(folder / kJournal, unknown);
}

// The kernel's list of locks is read: trying the lock could make a daemon fail that starts at that moment.
//   "1: FLOCK  ADVISORY  WRITE 6182 fe:00:9979823 0 EOF"
bool is_locked(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return false;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream fields(line);
    std::string number, kind, mode, access, pid, file;
    fields >> number >> kind >> mode >> access >> pid >> file;
    if (kind == "FLOCK" && ends_with(file, cat(":", found.st_ino))) return true;
  }
  return false;
}

Result<std::string> folder_of_config(const std::string& file, const std::vector<std::string>& overrides) {
  const auto own_folder = fs::absolute(file).parent_path();   // of a run's config.yaml
  if (has_journal(own_folder)) return own_folder.string();
  CORISCO_TRY(const config::Loaded loaded, config::load(file, overrides));
  for (const auto& problem : loaded.problems)
    if (starts_with(problem.path, "run.")) return Error{Code::invalid_argument, config::to_string(problem, file)};
  CORISCO_TRY(const std::string newest, newest_run_folder(loaded.config.run));
  return newest;
}

Result<std::string> folder_of(const std::string& run, const std::vector<std::string>& overrides) {
  std::error_code unknown;
  if (fs::is_regular_file(run, unknown)) return folder_of_config(run, overrides);
  for (const auto& folder : {fs::path(run), fs::path(kRuns) / run})
    if (has_journal(folder)) return folder.string();
  return Error{Code::not_found, cat("no run ", run, ": neither it nor ", kRuns, "/", run, " is a folder with a ",
                                    kJournal, " (samples.durability off leaves none)")};
}
}  // namespace

Result<FoundRun> find_run(const std::string& run, const std::vector<std::string>& overrides) {
  CORISCO_TRY(const std::string folder, folder_of(run, overrides));
  FoundRun found;
  found.folder = fs::absolute(folder).lexically_normal().string();
  if (!has_journal(found.folder))
    return Error{Code::not_found, cat(found.folder, " has no ", kJournal, " (samples.durability off leaves none)")};
  found.is_running = is_locked(cat(found.folder, "/", kJournal));
  const auto file = found.folder + "/config.yaml";
  CORISCO_TRY(const std::string yaml, files::read(file));
  found.loaded = config::parse(yaml, file, overrides);
  return found;
}
}  // namespace corisco::app
