#include "config/entries.h"

#include <algorithm>
#include <utility>

#include "corisco/base/strings.h"

namespace corisco::config {
namespace {
// The visitor that describe() is called with.
class Flattener {
 public:
  Flattener(std::vector<Entry>& entries, std::string section)
      : entries_(entries), section_(std::move(section)) {}

  template <class T>
  void operator()(const char* name, T& value, const Rule& rule) {
    const std::string path = section_.empty() ? std::string(name) : cat(section_, '.', name);
    if constexpr (requires { value.describe(*this); }) {
      entries_.push_back({path, std::monostate{}, rule});
      Flattener inner(entries_, path);
      value.describe(inner);
    } else {
      entries_.push_back({path, &value, rule});
    }
  }

 private:
  std::vector<Entry>& entries_;
  std::string section_;
};

// Levenshtein's distance, one row of the table at a time.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row[b.size()];
}
}  // namespace

std::string Entry::parent() const {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

std::string Entry::name() const { return path.substr(path.rfind('.') + 1); }

std::size_t Entry::depth() const {
  return static_cast<std::size_t>(std::count(path.begin(), path.end(), '.'));
}

std::vector<Entry> entries_of(Config& config) {
  std::vector<Entry> entries;
  Flattener flattener(entries, "");
  config.describe(flattener);
  return entries;
}

const Entry* find(const std::vector<Entry>& entries, const std::string& path) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.path == path; });
  return found == entries.end() ? nullptr : &*found;
}

std::string nearest(const std::vector<Entry>& entries, const std::string& path) {
  const Entry wanted{path, std::monostate{}, Rule{}};
  const std::string name = wanted.name();
  const std::size_t allowed = std::max<std::size_t>(2, name.size() / 3);
  std::string best;
  std::size_t best_distance = allowed + 1;
  for (const Entry& entry : entries) {
    // The right word in the wrong section is as near as one slip; slips count in the own section.
    const bool is_here = entry.parent() == wanted.parent();
    std::size_t how_far = is_here ? distance(name, entry.name()) : allowed + 1;
    if (!is_here && entry.name() == name) how_far = 1;
    if (how_far < best_distance) {
      best_distance = how_far;
      best = entry.path;
    }
  }
  return best;
}
}  // namespace corisco::config
