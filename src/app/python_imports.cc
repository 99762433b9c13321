#include "app/python_imports.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "corisco/base/files.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace fs = std::filesystem;
namespace {
constexpr std::uintmax_t kSearchedBytesMax = 4U << 20;   // of a file; a longer one is data

// "from ..shapes import square as s, circle": 2 dots, module "shapes", names "square" and "circle".
struct Import {
  std::size_t num_dots = 0;
  std::string module;
  std::vector<std::string> names;        // each may be a module too
};

bool is_name(std::string_view word) {
  const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c >= 0x80; };
  return !word.empty() && std::all_of(word.begin(), word.end(), is_part);
}

std::string first_word(std::string_view text) {
  text = trim(text);
  return std::string(text.substr(0, text.find_first_of(" \t")));
}

bool is_import(std::string_view statement) {
  return starts_with(statement, "import ") || starts_with(statement, "from ");
}

// Without comments, in one line each, as Python joins them: behind a backslash and within brackets.
std::vector<std::string> import_statements(const std::string& text) {
  std::vector<std::string> found;
  bool goes_on = false;
  for (const auto& line : split(text, '\n')) {
    const auto words = trim(std::string_view(line).substr(0, line.find('#')));
    if (!goes_on && !is_import(words)) continue;
    if (goes_on) found.back() += cat(" ", words);
    else found.emplace_back(words);
    auto& statement = found.back();
    const bool has_backslash = ends_with(statement, "\\");
    if (has_backslash) statement.pop_back();
    const auto bracket = statement.find('(');
    const bool is_open = bracket != std::string::npos && statement.find(')', bracket) == std::string::npos;
    goes_on = has_backslash || (is_open && statement.find("import") < bracket);
  }
  return found;
}

std::vector<Import> imports_of(std::string statement) {
  std::replace_if(statement.begin(), statement.end(), [](char c) { return c == '(' || c == ')'; }, ' ');
  std::vector<Import> imports;
  if (starts_with(statement, "import ")) {
    for (const auto& item : split(statement.substr(7), ',')) imports.push_back({0, first_word(item), {}});
    return imports;
  }
  const auto behind = statement.find(" import ");
  if (behind == std::string::npos) return imports;
  Import& one = imports.emplace_back();
  one.module = first_word(statement.substr(5, behind - 5));
  one.num_dots = std::min(one.module.find_first_not_of('.'), one.module.size());
  one.module.erase(0, one.num_dots);
  for (const auto& item : split(statement.substr(behind + 8), ',')) one.names.push_back(first_word(item));
  return imports;
}

// Where Python may find it: names below root, or with dots those of the importing file's package.
std::vector<fs::path> places_of(const Import& one, const fs::path& root, const fs::path& file) {
  std::vector<fs::path> places;
  const auto add = [&places](const fs::path& stem) {
    places.emplace_back(stem.string() + ".py");
    places.push_back(stem / "__init__.py");
  };
  fs::path at = one.num_dots == 0 ? root : file.parent_path();
  for (std::size_t dots = 1; dots < one.num_dots; ++dots) at = at.parent_path();
  if (!one.module.empty()) {
    for (const auto& part : split(one.module, '.')) {
      if (!is_name(part)) return places;
      at /= part;
      add(at);
    }
  }
  for (const auto& name : one.names)
    if (is_name(name)) add(at / name);
  return places;
}

std::vector<fs::path> places_in(const fs::path& file, const fs::path& root) {
  std::vector<fs::path> places;
  std::error_code unknown;
  if (fs::file_size(file, unknown) > kSearchedBytesMax || unknown) return places;
  const auto text = files::read(file.string());
  if (!text.ok()) return places;
  for (const auto& line : import_statements(text.value())) {
    for (const auto& part : split(line, ';')) {
      const std::string statement(trim(part));
      if (!is_import(statement)) continue;
      for (const auto& one : imports_of(statement)) {
        const auto more = places_of(one, root, file);
        places.insert(places.end(), more.begin(), more.end());
      }
    }
  }
  return places;
}
}  // namespace

std::vector<std::string> imported_files(const std::string& python_file) {
  std::error_code unknown;
  const auto first = fs::canonical(python_file, unknown);   // Python looks beside what a link leads to
  if (unknown) return {};
  std::set<fs::path> found{first};
  std::vector<fs::path> waiting{first};
  while (!waiting.empty()) {
    const auto file = waiting.back();
    waiting.pop_back();
    for (const auto& place : places_in(file, first.parent_path())) {
      if (found.contains(place) || !fs::is_regular_file(place, unknown)) continue;
      if (found.size() > kImportedFilesMax) {
        log::warn(cat(python_file, " imports more than ", kImportedFilesMax,
                      " files of its folder: a resume will not notice changes of the others"));
        waiting.clear();
        break;
      }
      found.insert(place);
      waiting.push_back(place);
    }
  }
  found.erase(first);
  std::vector<std::string> paths;
  for (const auto& path : found) paths.push_back(path.string());
  return paths;
}
}  // namespace corisco::app
