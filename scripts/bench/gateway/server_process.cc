#include "server_process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "corisco/base/strings.h"

namespace corisco::bench {
namespace {
std::string read_of(int pid, const char* name) {
  std::ifstream file(cat("/proc/", pid, "/", name));
  std::ostringstream text;
  text << file.rdbuf();
  if (text.str().empty()) throw std::runtime_error(cat("the server, process ", pid, ", has ended"));
  return text.str();
}
}  // namespace

double cpu_seconds(int pid) {
  if (pid == 0) return 0;
  // The second field is the program's name in brackets and may hold blanks; utime and stime are the
  // 12th and 13th fields after it.
  const auto text = read_of(pid, "stat");
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::uint64_t resident_bytes(int pid) {
  if (pid == 0) return 0;
  std::istringstream fields(read_of(pid, "statm"));
  std::uint64_t all = 0, resident = 0;
  fields >> all >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}
}  // namespace corisco::bench
