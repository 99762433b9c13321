// What differs between two configs, key by key.
#pragma once
#include <string>
#include <vector>

#include "corisco/config/config.h"

namespace corisco::config {
struct Difference {
  std::string path;                    // "trainer.learning_rate"
  std::string was, is;                 // as YAML; of a map the entries that differ, without their values
};

// In the order of the declarations. Secret keys are left out: a printed config does not have them; and a
// map's values are not shown, since environment variables may hold secrets.
std::vector<Difference> differences(const Config& was, const Config& is);
}  // namespace corisco::config
