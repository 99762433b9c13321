// From a file and --set to a Config with absolute paths and the whole list of problems.
#include "corisco/config/load.h"

#include <algorithm>
#include <filesystem>

#include "config/entries.h"
#include "config/reader.h"
#include "config/values.h"
#include "corisco/base/files.h"
#include "corisco/base/strings.h"

namespace corisco::config {
namespace {
bool has_problem(const std::vector<Problem>& problems, const std::string& path) {
  return std::any_of(problems.begin(), problems.end(),
                     [&](const Problem& problem) { return problem.path == path; });
}

bool is_empty(const Entry& entry) {
  if (const auto* text = std::get_if<std::string*>(&entry.target)) return (*text)->empty();
  if (const auto* list = std::get_if<Strings*>(&entry.target)) return (*list)->empty();
  return false;
}

void check_required(const std::vector<Entry>& entries, const Reader& reader, std::vector<Problem>& problems) {
  for (const Entry& entry : entries) {
    if (!entry.rule.is_required || !is_empty(entry) || has_problem(problems, entry.path)) continue;
    problems.push_back({reader.line_of(entry.path), entry.path, cat("is required (", entry.rule.help, ")")});
  }
}

// Every text that names a file: the keys that say so, and preloaded Python files.
std::vector<std::pair<std::string, std::string*>> file_names(Config& config,
                                                             const std::vector<Entry>& entries) {
  std::vector<std::pair<std::string, std::string*>> names;
  for (const Entry& entry : entries) {
    auto* const* text = std::get_if<std::string*>(&entry.target);
    if (entry.rule.is_path && text != nullptr && !(*text)->empty()) names.emplace_back(entry.path, *text);
  }
  for (auto& module : config.rollouts.harness.python_preload) {
    if (ends_with(module, ".py")) names.emplace_back("rollouts.harness.python_preload", &module);
  }
  return names;
}

// A :function behind the file stays where it is, since only the front changes.
void resolve(std::string& name, const std::filesystem::path& folder) {
  name = (folder / name).lexically_normal().string();
}

void check_exists(const std::string& path, const std::string& name, std::vector<Problem>& problems) {
  const auto function = name.rfind(".py:");
  const std::string file = function == std::string::npos ? name : name.substr(0, function + 3);
  std::error_code failure;
  if (std::filesystem::exists(file, failure)) return;
  problems.push_back({0, path, cat("there is no ", file)});
}

// Cross checks see defaults where a value was wrong; a second problem there would mislead.
void add_new(std::vector<Problem>& problems, std::vector<Problem> more, const Reader& reader) {
  std::erase_if(more, [&](const Problem& problem) { return has_problem(problems, problem.path); });
  for (auto& problem : more) {
    problem.line = reader.line_of(problem.path);
    problems.push_back(std::move(problem));
  }
}

Loaded parse_and_check(const std::string& yaml, const std::string& file,
                       const std::vector<std::string>& overrides, bool must_exist) {
  Loaded loaded;
  const auto absolute = std::filesystem::absolute(file).lexically_normal();
  loaded.config.file = absolute.string();
  const auto entries = entries_of(loaded.config);
  Reader reader(entries, loaded.problems);
  reader.read_document(yaml);
  for (const auto& assignment : overrides) reader.read_override(assignment);
  check_required(entries, reader, loaded.problems);

  std::vector<Problem> more;
  check_together(loaded.config, more);
  for (const auto& [path, name] : file_names(loaded.config, entries)) {
    resolve(*name, absolute.parent_path());
    if (must_exist) check_exists(path, *name, more);
  }
  add_new(loaded.problems, std::move(more), reader);
  std::stable_sort(loaded.problems.begin(), loaded.problems.end(), [](const Problem& a, const Problem& b) {
    return static_cast<unsigned>(a.line - 1) < static_cast<unsigned>(b.line - 1);  // no line: last
  });
  return loaded;
}
}  // namespace

std::string to_string(const Problem& problem, const std::string& file) {
  std::string text = file;
  if (problem.line > 0) text += cat(':', problem.line);
  if (!problem.path.empty()) text += cat(": ", problem.path);
  return cat(text, ": ", problem.message);
}

Loaded parse(const std::string& yaml, const std::string& file, const std::vector<std::string>& overrides) {
  return parse_and_check(yaml, file, overrides, false);
}

Result<Loaded> load(const std::string& yaml_path, const std::vector<std::string>& overrides) {
  CORISCO_TRY(const std::string yaml, files::read(yaml_path));
  return parse_and_check(yaml, yaml_path, overrides, true);
}
}  // namespace corisco::config
