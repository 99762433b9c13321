// The declarations of config.h as a flat list, so that everything that goes through all keys
// (loading, printing, the reference page) is plain code over one type.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "corisco/config/config.h"

namespace corisco::config {
using Strings = std::vector<std::string>;
using StringMap = std::map<std::string, std::string>;
// Where a key's value lives in its Config; monostate: the entry is a section.
using Target = std::variant<std::monostate, std::string*, bool*, float*, double*, std::uint32_t*,
                            std::uint64_t*, Strings*, StringMap*>;

struct Entry {
  std::string path;  // "rollouts.harness.command"
  Target target;
  Rule rule;
  bool is_section() const { return target.index() == 0; }
  std::string parent() const;  // "rollouts.harness"; empty at the top
  std::string name() const;    // "command"
  std::size_t depth() const;   // 0 at the top
};

// In the order of the declarations; a section stands before its keys. Valid as long as config.
std::vector<Entry> entries_of(Config& config);
const Entry* find(const std::vector<Entry>& entries, const std::string& path);
// The path of the entry that a mistyped path most likely meant; empty if none is near.
std::string nearest(const std::vector<Entry>& entries, const std::string& path);
}  // namespace corisco::config
