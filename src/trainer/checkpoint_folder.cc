#include "trainer/checkpoint_folder.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "trainer/durable_file.h"

namespace corisco::trainer {
namespace {
namespace fs = std::filesystem;
using Json = nlohmann::json;
constexpr int kFormat = 1;
constexpr const char* kManifest = "manifest.json";
constexpr const char* kAside = "tmp-";
constexpr const char* kStep = "step-";

std::string folder_name(std::uint64_t step, std::uint64_t repeat) {
  std::ostringstream name;
  name << kStep << std::setw(6) << std::setfill('0') << step;
  if (repeat > 1) name << '-' << repeat;
  return name.str();
}

std::optional<std::uint64_t> number(const std::string& digits) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// (step, repeat) of "step-000012" or "step-000012-2".
std::optional<std::pair<std::uint64_t, std::uint64_t>> parsed_name(const std::string& name) {
  if (!starts_with(name, kStep)) return std::nullopt;
  const auto parts = split(std::string_view(name).substr(std::string_view(kStep).size()), '-');
  if (parts.empty() || parts.size() > 2) return std::nullopt;
  const auto step = number(parts[0]);
  const auto repeat = parts.size() == 2 ? number(parts[1]) : std::optional<std::uint64_t>(1);
  if (!step || !repeat) return std::nullopt;
  return std::pair(*step, *repeat);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code problem;
  for (fs::directory_iterator it(folder, problem), end; !problem && it != end; it.increment(problem))
    names.push_back(it->path().filename().string());
  std::ranges::sort(names);
  return names;
}

// Files in the folder and below it, by relative name.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code problem;
  for (fs::recursive_directory_iterator it(folder, problem), end; !problem && it != end; it.increment(problem))
    if (it->is_regular_file()) names.push_back(it->path().lexically_relative(folder).string());
  std::ranges::sort(names);
  return names;
}

// The manifest is written last, so a folder that has one had all its files synced before.
Result<void> write_manifest(const std::string& folder) {
  Json listed = Json::array();
  for (const std::string& name : files_in(folder)) {
    const std::string path = folder + "/" + name;
    CORISCO_CHECK(sync_file(path));
    std::error_code problem;
    const auto bytes = fs::file_size(path, problem);
    if (problem) return Error{Code::internal, cat("could not measure ", path, ": ", problem.message())};
    CORISCO_TRY(const std::string hash, files::sha256_of_file(path));
    listed.push_back({{"name", name}, {"bytes", bytes}, {"sha256", hash}});
  }
  const Json manifest = {{"format", kFormat}, {"files", listed}};
  return files::write_atomically(folder + "/" + kManifest, json_text(manifest, 1) + "\n");
}

Result<void> verify_file(const std::string& path, std::uint64_t bytes, const std::string& hash) {
  std::error_code problem;
  const auto size = fs::file_size(path, problem);
  if (problem) return Error{Code::not_found, cat(path, ": ", problem.message())};
  if (size != bytes)
    return Error{Code::invalid_argument, cat(path, " has ", size, " bytes instead of ", bytes)};
  CORISCO_TRY(const std::string found, files::sha256_of_file(path));
  if (found != hash) return Error{Code::invalid_argument, cat(path, " is damaged: its SHA-256 is ", found)};
  return {};
}

std::string free_name(const std::string& parent, std::uint64_t step) {
  for (std::uint64_t repeat = 1;; ++repeat) {
    std::string path = parent + "/" + folder_name(step, repeat);
    std::error_code problem;
    if (!fs::exists(path, problem)) return path;
  }
}

void remove_tree(const std::string& path) {
  std::error_code problem;
  fs::remove_all(path, problem);
  if (problem) log::warn(cat("could not delete ", path, ": ", problem.message()));
}

// Aside first: whoever is killed on the way leaves no half a checkpoint by a whole one's name.
void remove_checkpoint(const std::string& path, const std::string& parent) {
  const std::string aside = cat(parent, "/", kAside, fs::path(path).filename().string());
  std::error_code problem;
  fs::rename(path, aside, problem);
  if (problem) return log::warn(cat("could not delete ", path, ": ", problem.message()));
  remove_tree(aside);
}

Result<std::string> rename_to_step(const std::string& aside, const std::string& parent, std::uint64_t step) {
  const std::string path = free_name(parent, step);
  std::error_code problem;
  fs::rename(aside, path, problem);
  if (problem)
    return Error{Code::unavailable, cat("could not rename ", aside, " to ", path, ": ", problem.message())};
  CORISCO_CHECK(files::sync_folder(parent));
  return path;
}

Result<void> fill_folder(const std::string& aside,
                         const std::function<Result<void>(const std::string&)>& fill) {
  CORISCO_CHECK(fill(aside));
  CORISCO_CHECK(write_manifest(aside));
  return files::sync_folder(aside);
}
}  // namespace

Result<std::string> write_checkpoint_folder(const std::string& parent, std::uint64_t step,
                                            const std::function<Result<void>(const std::string&)>& fill) {
  const std::string aside = cat(parent, "/", kAside, step, "-", ::getpid());
  std::error_code problem;
  fs::create_directories(aside, problem);
  if (problem) return Error{Code::unavailable, cat("could not create ", aside, ": ", problem.message())};
  const auto filled = fill_folder(aside, fill);
  if (!filled.ok()) {
    remove_tree(aside);
    return filled.error();
  }
  return rename_to_step(aside, parent, step);
}

Result<void> verify_checkpoint_folder(const std::string& folder) {
  CORISCO_TRY(const std::string text, files::read(folder + "/" + kManifest));
  std::vector<std::pair<std::string, std::pair<std::uint64_t, std::string>>> listed;
  try {
    const Json manifest = parse_json(text);
    if (manifest.at("format") != kFormat)
      return Error{Code::invalid_argument, cat(folder, " has format ", json_text(manifest.at("format")),
                                               "; this program reads ", kFormat)};
    for (const auto& file : manifest.at("files"))
      listed.push_back({file.at("name"), {file.at("bytes"), file.at("sha256")}});
  } catch (const Json::exception& exception) {
    return Error{Code::invalid_argument, cat("the manifest of ", folder, " is damaged: ", exception.what())};
  }
  for (const auto& [name, expected] : listed)
    CORISCO_CHECK(verify_file(folder + "/" + name, expected.first, expected.second));
  return {};
}

std::vector<std::string> checkpoint_folders(const std::string& parent, std::uint64_t step_max) {
  std::vector<std::pair<std::pair<std::uint64_t, std::uint64_t>, std::string>> found;
  for (const std::string& name : names_in(parent)) {
    const auto order = parsed_name(name);
    if (order && order->first <= step_max) found.emplace_back(*order, parent + "/" + name);
  }
  std::ranges::sort(found, std::greater<>{});
  std::vector<std::string> folders;
  for (auto& [order, path] : found) folders.push_back(std::move(path));
  return folders;
}

void remove_unfinished_checkpoints(const std::string& parent) {
  for (const std::string& name : names_in(parent))
    if (starts_with(name, kAside)) remove_tree(parent + "/" + name);
}

void prune_checkpoints(const std::string& parent, const std::string& newest, std::size_t kept) {
  const auto folders = checkpoint_folders(parent);
  for (std::size_t i = kept; i < folders.size(); ++i)
    if (folders[i] != newest) remove_checkpoint(folders[i], parent);
}
}  // namespace corisco::trainer
