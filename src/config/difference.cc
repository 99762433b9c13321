// Two configs of the same declarations, walked side by side.
#include "corisco/config/difference.h"

#include "config/entries.h"
#include "config/values.h"
#include "corisco/base/strings.h"

namespace corisco::config {
namespace {
// The entries of map that other does not have, or has with another value.
std::string own_entries(const StringMap& map, const StringMap& other) {
  Strings names;
  for (const auto& [name, value] : map) {
    const auto found = other.find(name);
    if (found == other.end() || found->second != value) names.push_back(cat(name, ": ***"));
  }
  return cat("{", join(names, ", "), "}");
}
}  // namespace

std::vector<Difference> differences(const Config& was, const Config& is) {
  Config old_copy = was, new_copy = is;
  const auto old_entries = entries_of(old_copy), new_entries = entries_of(new_copy);
  std::vector<Difference> found;
  for (std::size_t i = 0; i < new_entries.size(); ++i) {
    const Entry& before = old_entries[i];
    const Entry& now = new_entries[i];
    if (now.is_section() || now.rule.is_secret || yaml_of(before.target) == yaml_of(now.target)) continue;
    if (const auto* const* map = std::get_if<StringMap*>(&now.target)) {
      const StringMap& old_map = **std::get_if<StringMap*>(&before.target);
      found.push_back({now.path, own_entries(old_map, **map), own_entries(**map, old_map)});
    } else {
      found.push_back({now.path, yaml_of(before.target), yaml_of(now.target)});
    }
  }
  return found;
}
}  // namespace corisco::config
