#include "app/harness_files.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/python_imports.h"
#include "corisco/base/files.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace fs = std::filesystem;
namespace {
constexpr std::string_view kConfigFolder = "{config_folder}";

class Listing {
 public:
  explicit Listing(const std::string& config_file) {
    std::error_code unknown;
    folder_ = fs::absolute(config_file, unknown).lexically_normal().parent_path();
  }
  // "agent.py:run"
  void add_function(const std::string& key, const std::string& function) {
    if (!function.empty()) add(key, fs::path(function.substr(0, function.rfind(':'))));
  }
  // Programs are looked up elsewhere, and templates are known per rollout only.
  void add_command(const std::string& key, const std::vector<std::string>& command) {
    for (std::size_t i = 0; i < command.size(); ++i) {
      auto word = command[i];
      if (const auto at = word.find(kConfigFolder); at != std::string::npos)
        word.replace(at, kConfigFolder.size(), folder_.string());
      std::error_code unknown;
      const bool is_known = !folder_.empty() && word.find('{') == std::string::npos;
      const bool is_ours = is_known && starts_with(word, folder_.string() + "/");
      if (is_ours && !fs::is_directory(word, unknown)) add(cat(key, "[", i, "]"), word);
    }
  }
  nlohmann::ordered_json take() { return std::move(files_); }

 private:
  void add(const std::string& key, const fs::path& path) {
    std::error_code unknown;
    const auto whole = fs::absolute(path, unknown).lexically_normal();
    auto& file = files_[key];
    file = {{"file", name_of(whole)}, {"sha256", hash_of(whole)}};
    if (whole.extension() != ".py") return;
    auto& imports = file["imports"] = nlohmann::ordered_json::object();
    for (const auto& imported : imported_files(whole.string())) imports[name_of(imported)] = hash_of(imported);
  }
  std::string name_of(const fs::path& whole) const {
    const auto within = whole.lexically_relative(folder_).string();
    return within.empty() || starts_with(within, "..") ? whole.string() : within;
  }
  static std::string hash_of(const fs::path& whole) {
    const auto hash = files::sha256_of_file(whole.string());
    return hash.ok() ? hash.value() : kMissingFile;
  }

  fs::path folder_;
  nlohmann::ordered_json files_ = nlohmann::ordered_json::object();
};
}  // namespace

nlohmann::ordered_json harness_files(const config::Config& config) {
  Listing listing(config.file);
  const auto& rollouts = config.rollouts;
  listing.add_function("rollouts.harness.python", rollouts.harness.python);
  listing.add_command("rollouts.harness.command", rollouts.harness.command);
  if (rollouts.reward.source == "python") listing.add_function("rollouts.reward.python", rollouts.reward.python);
  if (rollouts.reward.source == "command") listing.add_command("rollouts.reward.command", rollouts.reward.command);
  return listing.take();
}
}  // namespace corisco::app
