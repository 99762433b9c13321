// The spawner's own loop: forks a supervisor per command, hands Python functions to the warmed
// interpreter, passes kills on, reports ends, and kills what a lost supervisor left behind.
// Owned by the spawner process's only thread. Never blocks but in poll.
#pragma once
#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "corisco/rollouts/sandbox.h"
#include "rollouts/frame_stream.h"

namespace corisco::rollouts {
class SpawnerProcess {
 public:
  explicit SpawnerProcess(FileDescriptor daemon);
  // Returns once the daemon is gone and every tree with it.
  void run();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Tree {
    FrameStream supervisor;
    pid_t pid = 0;                     // of the supervisor; 0: not known yet
    std::optional<TimePoint> kill_supervisor_at;  // it should have ended its tree by then
    std::uint64_t memory_mb_max = 0, processes_max = 0;  // 0: no limit
    std::string over_limit;            // over which limit it was found
  };

  void wait_and_serve();
  void obey_daemon();
  void obey_daemon(const wire::Frame& frame);
  void start_interpreter(const Launch& launch);
  void serve_interpreter();
  void start(Launch launch, const std::string& body);
  void start_command(const Launch& launch, FileDescriptor ours, FileDescriptor theirs);
  Tree& add_tree(const Launch& launch, FileDescriptor ours);
  void kill(const wire::Kill& kill);
  void serve_tree(AttemptKey attempt, Tree& tree, short events);
  void note_reaped(pid_t pid);
  void forward_end(const Tree& tree, const std::string& body);
  void kill_overdue_supervisors();
  bool has_limits() const;
  void watch_limits();
  void sweep();
  void report(const ProcessEnd& end) { daemon_.send(wire::Type::end, wire::encode(end)); }
  int milliseconds_to_wait() const;
  std::set<pid_t> known_pids() const;
  void end_everything();

  FrameStream daemon_;
  FileDescriptor signals_;
  FrameStream interpreter_;
  pid_t interpreter_pid_ = 0;
  bool is_interpreter_ready_ = false;
  bool is_over_ = false;
  std::map<AttemptKey, Tree> trees_;
  TimePoint limits_watched_at_;
  std::set<pid_t> supervisors_;        // forked here, not reaped yet
  std::set<AttemptKey> lost_;          // supervisors that died with their trees perhaps alive
};
}  // namespace corisco::rollouts
