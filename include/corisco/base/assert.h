// A check that stays on in release builds: prints what was violated and aborts.
// For bugs only; bad input and operating errors are a Result (result.h).
#pragma once
#include <string>

namespace corisco {
// Writes the message with its place to stderr and aborts. Any thread.
[[noreturn]] void assert_failed(const char* condition, const char* file, int line,
                                const std::string& values);
}  // namespace corisco

// CORISCO_ASSERT(rows == ids.size(), cat(rows, " rows, ", ids.size(), " ids")).
#define CORISCO_ASSERT(condition, values)                                            \
  do {                                                                               \
    if (!(condition)) [[unlikely]]                                                   \
      ::corisco::assert_failed(#condition, __FILE__, __LINE__, (values));            \
  } while (false)
