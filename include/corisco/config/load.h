// Reads a YAML config strictly: unknown keys, wrong types and values out of bounds are problems,
// and all of them are reported at once.
#pragma once
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/config/config.h"

namespace corisco::config {
// "quickstart.yaml:12: rollouts.group_size: 0 is below 1 (Sibling rollouts of a task.)"
struct Problem {
  int line = 0;                        // 0: not from a line, such as --set or a missing key
  std::string path;
  std::string message;
};
std::string to_string(const Problem& problem, const std::string& file);

struct Loaded {
  Config config;
  std::vector<Problem> problems;
};

// overrides: "a.b=c" as given to --set, applied over the file; their values are YAML.
// ${NAME} in a value is replaced by the environment variable; an unset one is a problem.
// An error only if the file cannot be read at all.
Result<Loaded> load(const std::string& yaml_path, const std::vector<std::string>& overrides);
// The same from text; file is used for messages and relative paths.
Loaded parse(const std::string& yaml, const std::string& file,
             const std::vector<std::string>& overrides);
// Problems between keys, such as a reward source without its function. Called by load.
void check_together(const Config& config, std::vector<Problem>& problems);

std::string to_yaml(const Config& config);   // everything in force, commented with the help
std::string reference_page();                // docs/config.md, from the declarations
}  // namespace corisco::config
