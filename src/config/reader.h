// YAML text -> values of a Config, with every problem on the way. The only file that knows yaml-cpp.
// One use by one thread.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "config/entries.h"
#include "corisco/config/load.h"

namespace YAML {
class Node;
}

namespace corisco::config {
class Reader {
 public:
  Reader(const std::vector<Entry>& entries, std::vector<Problem>& problems)
      : entries_(entries), problems_(problems) {}
  void read_document(const std::string& yaml);
  // "a.b=c" of --set; takes the place of what the file says, and of the file's problems there.
  void read_override(const std::string& assignment);
  // Where a key or section was given; 0 if by --set or not at all.
  int line_of(const std::string& path) const;

 private:
  void read_section(const YAML::Node& map, const std::string& section);
  void read_entry(const Entry& entry, const YAML::Node& value, int line);
  void read_key(const Entry& entry, const YAML::Node& value, int line);
  void read_list(const Entry& entry, const YAML::Node& value, int line);
  void read_map(const Entry& entry, const YAML::Node& value, int line);
  bool read_text(const Entry& entry, const YAML::Node& value, int line, std::string& text);
  void report(int line, const std::string& path, const std::string& message);
  void report(const Entry& entry, int line, const std::string& message);
  void report_unknown(int line, const std::string& path);

  const std::vector<Entry>& entries_;
  std::vector<Problem>& problems_;
  std::map<std::string, int> lines_;
  bool is_override_ = false;
};
}  // namespace corisco::config
