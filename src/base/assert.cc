#include "corisco/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace corisco {
void assert_failed(const char* condition, const char* file, int line, const std::string& values) {
  std::fprintf(stderr, "corisco: assertion failed: %s at %s:%d: %s\n", condition, file, line,
               values.c_str());
  std::fflush(stderr);
  std::abort();
}
}  // namespace corisco
