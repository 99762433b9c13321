// The config in force as YAML with its help (secrets hidden), and docs/config.md: both from the declarations alone.
#include <limits>

#include "config/entries.h"
#include "config/values.h"
#include "corisco/base/strings.h"
#include "corisco/config/load.h"

namespace corisco::config {
namespace {
const char* const kIntroduction =
    "# Configuration\n\n"
    "Generated from `include/corisco/config/config.h`; a test fails when this page is stale.\n\n"
    "- One YAML file. Unknown keys, wrong types, values out of bounds and keys given twice are\n"
    "  problems; all of them are reported at once, each with its line and path.\n"
    "- `${NAME}` in a value is replaced by the environment variable; an unset one is a problem.\n"
    "  `$$` is a plain `$`.\n"
    "- `--set a.b=c` takes the place of what the file says; the value is YAML.\n"
    "- Keys marked *path* are relative to the folder of the config file.\n";

std::string bounds_of(const Entry& entry) {
  const Rule& rule = entry.rule;
  std::vector<std::string> parts;
  for (const char* word : rule.one_of) parts.push_back(cat('`', word, '`'));
  if (!parts.empty()) return join(parts, ", ");
  if (rule.min > std::numeric_limits<double>::lowest())
    parts.push_back(cat("at least ", number_text(rule.min)));
  if (rule.max < std::numeric_limits<double>::max()) parts.push_back(cat("at most ", number_text(rule.max)));
  if (rule.is_path) parts.emplace_back("*path*");
  if (rule.is_required) parts.emplace_back("required");
  return join(parts, ", ");
}

std::string row_of(const Entry& entry) {
  return cat("| `", entry.name(), "` | ", kind_name(entry.target), " | `", yaml_of(entry.target), "` | ",
             bounds_of(entry), " | ", entry.rule.help, " |\n");
}

std::string value_of(const Entry& entry) {
  const std::string value = yaml_of(entry.target);
  return entry.rule.is_secret && value != "\"\"" ? "\"***\"" : value;
}

std::string section_of(const std::vector<Entry>& entries, const Entry& section) {
  std::string text = cat("\n## ", section.path, "\n\n| key | kind | default | bounds | meaning |\n",
                         "| --- | --- | --- | --- | --- |\n");
  for (const Entry& entry : entries) {
    if (!entry.is_section() && entry.parent() == section.path) text += row_of(entry);
  }
  return text;
}
}  // namespace

std::string to_yaml(const Config& config) {
  Config copy = config;
  std::string yaml;
  for (const Entry& entry : entries_of(copy)) {
    const std::string indent(2 * entry.depth(), ' ');
    if (*entry.rule.help != '\0') yaml += cat(indent, "# ", entry.rule.help, "\n");
    yaml += cat(indent, entry.name(), ":");
    yaml += entry.is_section() ? "\n" : cat(" ", value_of(entry), "\n");
  }
  return yaml;
}

std::string reference_page() {
  Config defaults;
  const auto entries = entries_of(defaults);
  std::string page = kIntroduction;
  for (const Entry& entry : entries) {
    if (entry.is_section()) page += section_of(entries, entry);
  }
  return page;
}
}  // namespace corisco::config
