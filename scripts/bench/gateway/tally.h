// Counts how calls ended, and what the server and this process spent meanwhile.
#pragma once
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "client.h"
#include "server_process.h"

namespace corisco::bench {
inline std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}
inline double seconds_between(TimePoint from, TimePoint to) { return std::chrono::duration<double>(to - from).count(); }

// A call is good if its status is 200; the others are told by status, 0 for a lost connection.
class Endings {
 public:
  bool count(const Outcome& outcome) {
    if (outcome.status == 200) ++good_;
    else ++failed_[std::to_string(outcome.status)];
    return outcome.status == 200;
  }
  std::size_t good() const { return good_; }
  const std::map<std::string, std::size_t>& failed() const { return failed_; }   // by status

 private:
  std::size_t good_ = 0;
  std::map<std::string, std::size_t> failed_;
};

class Spent {
 public:
  explicit Spent(int pid) : pid_(pid), server_(cpu_seconds(pid)), own_(own_cpu_seconds()) {}
  double server_seconds() const { return cpu_seconds(pid_) - server_; }
  // Shares of a core: which side was the limit.
  void write(nlohmann::ordered_json& line, double seconds) const {
    line["server_cores"] = server_seconds() / seconds;
    line["load_cores"] = (own_cpu_seconds() - own_) / seconds;
  }

 private:
  int pid_;
  double server_, own_;
};
}  // namespace corisco::bench
