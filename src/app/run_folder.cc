#include "app/run_folder.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/harness_files.h"
#include "app/version.h"
#include "corisco/base/clock.h"
#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "corisco/config/load.h"

namespace corisco::app {
namespace fs = std::filesystem;
namespace {
std::string numbered(const std::string& name, int number) {
  return number == 1 ? name : cat(name, "-", number);
}

// 0: it is no folder of this run.
int number_of(const std::string& folder, const std::string& name) {
  if (folder == name) return 1;
  if (!starts_with(folder, name + "-")) return 0;
  int number = 0;
  std::from_chars(folder.data() + name.size() + 1, folder.data() + folder.size(), number);
  return number > 1 && numbered(name, number) == folder ? number : 0;
}

// The highest number that is taken; 0: none is. A gap below it was left by a folder that is gone, and filling
// it would make the oldest run of the newest one.
int newest_number(const config::Run& run) {
  int newest = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(run.folder, ignored))
    newest = std::max(newest, number_of(entry.path().filename().string(), run.name));
  return newest;
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (starts_with(line, "model name")) return std::string(trim(line.substr(line.find(':') + 1)));
  return "unknown";
}

nlohmann::ordered_json hardware(const std::string& capability) {
  utsname names{};
  ::uname(&names);
  return {{"processor", processor_name()},
          {"cores", std::thread::hardware_concurrency()},
          {"memory_bytes", static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                               static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))},
          {"system", cat(names.sysname, " ", names.release, " ", names.machine)},
          {"capability", capability}};
}
}  // namespace

const std::string& binary_sha256() {
  static const auto hash = files::sha256_of_file("/proc/self/exe");
  static const std::string none;
  return hash.ok() ? hash.value() : none;
}

nlohmann::ordered_json model_files(const std::string& folder) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!entry.is_regular_file()) continue;
    const auto hash = files::sha256_of_file(entry.path().string());
    files[entry.path().filename().string()] = {{"bytes", entry.file_size()},
                                               {"sha256", hash.ok() ? hash.value() : ""}};
  }
  return files;
}

bool has_manifest(const RunFolder& folder) {
  std::error_code unknown;
  return fs::exists(folder.path + "/manifest.json", unknown);
}

Result<RunFolder> open_run_folder(const config::Run& run, bool resume) {
  const int newest = newest_number(run);
  if (resume && newest == 0)
    return Error{Code::not_found, cat("nothing to resume: ", run.folder, "/", run.name,
                                      " does not exist; start without --resume")};
  std::error_code error;
  fs::create_directories(run.folder, error);
  int number = resume ? newest : newest + 1;
  // Made here or not at all: another daemon may begin at the same moment.
  while (!resume && !error && !fs::create_directory(fs::path(run.folder) / numbered(run.name, number), error))
    if (!error) ++number;
  RunFolder folder;
  folder.is_resumed = resume;
  folder.name = numbered(run.name, number);
  folder.path = fs::absolute(fs::path(run.folder) / folder.name).lexically_normal().string();
  fs::create_directories(folder.checkpoints(), error);
  fs::create_directories(folder.path + "/rollouts", error);
  if (error)
    return Error{Code::unavailable, cat("could not make the run's folder ", folder.path, ": ", error.message())};
  fs::permissions(folder.path + "/rollouts", fs::perms::owner_all, error);
  return folder;
}

Result<std::string> newest_run_folder(const config::Run& run) {
  const int newest = newest_number(run);
  if (newest == 0) return Error{Code::not_found, cat("there is no run ", run.folder, "/", run.name)};
  return (fs::path(run.folder) / numbered(run.name, newest)).string();
}

void remove_unused(const RunFolder& folder) {
  if (folder.path.empty() || folder.is_resumed) return;
  log::set_file("");
  std::error_code problem;
  fs::remove_all(folder.path, problem);
  if (problem) log::warn(cat("could not delete ", folder.path, ", where nothing was run: ", problem.message()));
}

Result<void> check_model_files(const std::string& run_folder, const std::string& model_folder) {
  CORISCO_TRY(const std::string text, files::read(run_folder + "/manifest.json"));
  const auto manifest = parse_json(text);
  if (!manifest.is_object() || !manifest.contains("model_files"))
    return Error{Code::invalid_argument, cat(run_folder, "/manifest.json does not list the model's files")};
  for (const auto& [name, listed] : manifest["model_files"].items()) {
    CORISCO_TRY(const std::string hash, files::sha256_of_file(model_folder + "/" + name));
    if (listed.value("sha256", "") != hash)
      return Error{Code::conflict, cat(model_folder, "/", name, " changed since the run began: its SHA-256 is ", hash,
                                       ", the run's manifest says ", listed.value("sha256", ""))};
  }
  return {};
}

Result<void> write_manifest(const RunFolder& folder, const config::Config& config,
                            const std::string& capability, const std::string& tasks_sha256,
                            const std::string& heldout_sha256) {
  const nlohmann::ordered_json manifest = {
      {"format", 1},
      {"corisco", kVersion},
      {"binary_sha256", binary_sha256()},
      {"run", folder.name},
      {"started_unix_seconds", real_clock().unix_seconds()},
      {"seed", config.run.seed},
      {"config_file", config.file},
      {"config_sha256", files::sha256(config::to_yaml(config))},
      {"tasks_sha256", tasks_sha256},
      {"heldout_sha256", heldout_sha256},
      {"harness_files", harness_files(config)},
      {"model_path", config.model.path},
      {"model_files", model_files(config.model.path)},
      {"packages", {{"libtorch", kTorchVersion}, {"compiler", kCompiler}}},
      {"hardware", hardware(capability)}};
  CORISCO_CHECK(files::write_atomically(folder.path + "/config.yaml", config::to_yaml(config), 0600));
  return files::write_atomically(folder.path + "/manifest.json", json_text(manifest, 2) + "\n");
}
}  // namespace corisco::app
