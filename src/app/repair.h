// `corisco repair RUN`: saves what can be read of a damaged journal, and says what it cost.
#pragma once
#include <string>

namespace corisco::app {
// run: as find_run() takes it.
int repair(const std::string& run);
}  // namespace corisco::app
