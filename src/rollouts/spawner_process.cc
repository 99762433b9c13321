#include "rollouts/spawner_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "corisco/base/strings.h"
#include "corisco/rollouts/spawner.h"
#include "rollouts/process_start.h"
#include "rollouts/process_tree.h"
#include "rollouts/supervisor.h"

namespace corisco::rollouts {
namespace {
using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;
constexpr milliseconds kSupervisorGrace{2000};  // past a kill's own grace
constexpr milliseconds kSweepAgain{5};
constexpr milliseconds kWatchLimits{1000};
constexpr milliseconds kEndGrace{400};          // for supervisors, once the daemon is gone

std::array<FileDescriptor, 2> make_pair() {
  std::array<int, 2> ends{-1, -1};
  ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

FileDescriptor block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  return FileDescriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

// In the supervisor's process: nothing of the spawner's stays open but its end of the pair.
int supervise_in_child(FileDescriptor theirs, const Launch& launch, pid_t spawner) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::prctl(PR_SET_NAME, "corisco-superv");
  if (::getppid() != spawner) return 1;
  ::dup3(theirs.get(), kKeptFd, O_CLOEXEC);
  ::syscall(SYS_close_range, kKeptFd + 1, ~0U, 0);
  (void)theirs.release();
  return supervise(FileDescriptor(kKeptFd), launch);
}
}  // namespace

SpawnerProcess::SpawnerProcess(FileDescriptor daemon)
    : daemon_(std::move(daemon)), signals_(block_signals()) {}

// Consumes the daemon's requests, the supervisors' reports and signals; produces ends.
void SpawnerProcess::run() {
  while (!is_over_) wait_and_serve();
  end_everything();
}

void SpawnerProcess::wait_and_serve() {
  const auto interest = [](const FrameStream& stream) {
    return static_cast<short>(POLLIN | (stream.has_unsent() ? POLLOUT : 0));
  };
  std::vector<pollfd> fds = {{daemon_.fd(), interest(daemon_), 0},
                             {signals_.get(), POLLIN, 0},
                             {interpreter_.fd(), interest(interpreter_), 0}};
  std::vector<AttemptKey> attempts;
  for (const auto& [attempt, tree] : trees_) {
    fds.push_back({tree.supervisor.fd(), interest(tree.supervisor), 0});
    attempts.push_back(attempt);
  }
  ::poll(fds.data(), fds.size(), milliseconds_to_wait());
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (fds[i + 3].revents != 0) serve_tree(attempts[i], trees_.at(attempts[i]), fds[i + 3].revents);
  }
  if (fds[2].revents != 0) serve_interpreter();
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo != SIGCHLD) is_over_ = true;
  }
  reap([this](pid_t pid, int) { note_reaped(pid); });
  kill_overdue_supervisors();
  watch_limits();
  sweep();
  if (fds[0].revents != 0) obey_daemon();
}

void SpawnerProcess::obey_daemon() {
  const bool is_there = daemon_.read_available() && daemon_.flush();
  while (const auto frame = daemon_.take()) obey_daemon(*frame);
  if (!is_there || !daemon_.is_open()) is_over_ = true;
}

void SpawnerProcess::obey_daemon(const wire::Frame& frame) {
  if (frame.type == wire::Type::kill) {
    if (const auto request = wire::decode_kill(frame.body)) kill(*request);
    return;
  }
  auto launch = wire::decode_launch(frame.body);
  if (!launch) {
    is_over_ = true;                   // the two ends disagree: nothing here can be trusted
  } else if (frame.type == wire::Type::options) {
    start_interpreter(*launch);
  } else {
    start(std::move(*launch), frame.body);
  }
}

void SpawnerProcess::start_interpreter(const Launch& launch) {
  if (launch.argv.empty()) {
    daemon_.send(wire::Type::ready, "");
    return;
  }
  auto [ours, theirs] = make_pair();
  auto started = start_process({launch.argv, launch.env, "", STDERR_FILENO, theirs.get(), 0});
  if (!started.ok()) {
    daemon_.send(wire::Type::ready, started.error().message);
    return;
  }
  interpreter_pid_ = started.value();
  interpreter_ = FrameStream(std::move(ours));
}

void SpawnerProcess::serve_interpreter() {
  const bool is_there = interpreter_.read_available() && interpreter_.flush();
  while (const auto frame = interpreter_.take()) {
    is_interpreter_ready_ = frame->body.empty();
    daemon_.send(wire::Type::ready, frame->body);
  }
  if (is_there) return;
  if (!is_interpreter_ready_) {
    daemon_.send(wire::Type::ready, "the Python interpreter ended while it started");
  }
  is_interpreter_ready_ = false;
  interpreter_.close();
}

void SpawnerProcess::start(Launch launch, const std::string& body) {
  if (trees_.contains(launch.attempt) || lost_.contains(launch.attempt)) {
    // The first one's end is still to come, and ends are matched by attempt.
    return;
  }
  auto [ours, theirs] = make_pair();
  if (ours.get() < 0) {
    report({launch.attempt, ProcessEnd::How::not_started, 0, "no socket for a supervisor"});
  } else if (launch.python_function.empty()) {
    start_command(launch, std::move(ours), std::move(theirs));
  } else if (is_interpreter_ready_) {
    add_tree(launch, std::move(ours));
    interpreter_.send(wire::Type::launch, body, std::move(theirs));
  } else {
    report({launch.attempt, ProcessEnd::How::not_started, 0,
            "the warmed Python interpreter does not run (any more)"});
  }
}

void SpawnerProcess::start_command(const Launch& launch, FileDescriptor ours,
                                   FileDescriptor theirs) {
  const pid_t spawner = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(supervise_in_child(std::move(theirs), launch, spawner));
  if (pid < 0) {
    report({launch.attempt, ProcessEnd::How::not_started, 0, "could not fork a supervisor"});
    return;
  }
  supervisors_.insert(pid);
  add_tree(launch, std::move(ours)).pid = pid;
}

SpawnerProcess::Tree& SpawnerProcess::add_tree(const Launch& launch, FileDescriptor ours) {
  Tree& tree = trees_[launch.attempt];
  tree.supervisor = FrameStream(std::move(ours));
  tree.memory_mb_max = launch.tree_memory_mb_max;
  tree.processes_max = launch.tree_processes_max;
  return tree;
}

void SpawnerProcess::kill(const wire::Kill& kill) {
  const auto found = trees_.find(kill.attempt);
  if (found == trees_.end()) return;
  Tree& tree = found->second;
  tree.supervisor.send(wire::Type::kill, wire::encode(kill));
  const auto at = SteadyClock::now() + milliseconds(kill.grace_ms) + kSupervisorGrace;
  tree.kill_supervisor_at = std::min(tree.kill_supervisor_at.value_or(at), at);
}

void SpawnerProcess::serve_tree(AttemptKey attempt, Tree& tree, short events) {
  if ((events & POLLOUT) != 0) tree.supervisor.flush();
  const bool is_there = tree.supervisor.read_available();
  while (const auto frame = tree.supervisor.take()) {
    if (frame->type == wire::Type::supervisor) {
      const auto pid = static_cast<pid_t>(wire::decode_pid(frame->body).value_or(0));
      tree.pid = pid;
    } else if (frame->type == wire::Type::end) {
      forward_end(tree, frame->body);
      trees_.erase(attempt);
      return;
    }
  }
  if (is_there) return;
  trees_.erase(attempt);
  lost_.insert(attempt);
}

void SpawnerProcess::forward_end(const Tree& tree, const std::string& body) {
  auto end = wire::decode_end(body);
  if (!end || tree.over_limit.empty()) return daemon_.send(wire::Type::end, body);
  end->how = ProcessEnd::How::over_limit;
  end->error = tree.over_limit;
  report(*end);
}

bool SpawnerProcess::has_limits() const {
  return std::any_of(trees_.begin(), trees_.end(), [](const auto& entry) {
    return entry.second.memory_mb_max > 0 || entry.second.processes_max > 0;
  });
}

// One look at /proc for all trees. A supervisor does not count: it is ours.
void SpawnerProcess::watch_limits() {
  const auto now = SteadyClock::now();
  if (!has_limits() || now < limits_watched_at_ + kWatchLimits) return;
  limits_watched_at_ = now;
  std::vector<pid_t> roots;
  std::vector<AttemptKey> attempts;
  for (const auto& [attempt, tree] : trees_) {
    if (tree.pid == 0 || !tree.over_limit.empty()) continue;
    roots.push_back(tree.pid);
    attempts.push_back(attempt);
  }
  const auto uses = uses_below(roots);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    Tree& tree = trees_.at(attempts[i]);
    const std::uint64_t megabytes = uses[i].resident_bytes >> 20;
    if (tree.memory_mb_max > 0 && megabytes > tree.memory_mb_max) {
      tree.over_limit = cat("its processes held ", megabytes, " MB (rollouts.tree_memory_mb_max is ",
                            tree.memory_mb_max, ")");
    } else if (tree.processes_max > 0 && uses[i].num_processes > tree.processes_max) {
      tree.over_limit = cat("it had ", uses[i].num_processes, " processes (rollouts.tree_processes_max is ",
                            tree.processes_max, ")");
    }
    if (!tree.over_limit.empty()) kill({attempts[i], 0});
  }
}

void SpawnerProcess::note_reaped(pid_t pid) {
  supervisors_.erase(pid);
  if (pid == interpreter_pid_) interpreter_pid_ = 0;
}

void SpawnerProcess::kill_overdue_supervisors() {
  const auto now = SteadyClock::now();
  for (auto& [attempt, tree] : trees_) {
    if (tree.pid > 0 && tree.kill_supervisor_at && now >= *tree.kill_supervisor_at) {
      ::kill(tree.pid, SIGKILL);
      tree.kill_supervisor_at = now + kSupervisorGrace;
    }
  }
}

// What a dead supervisor left has become this process's children: neither a supervisor nor the
// interpreter. It is killed, and only then is the attempt's end reported.
void SpawnerProcess::sweep() {
  if (lost_.empty()) return;
  const auto known = known_pids();
  if (!descendants(known).empty()) {
    kill_descendants(known);
    return;
  }
  for (const auto& attempt : lost_) {
    report({attempt, ProcessEnd::How::signalled, SIGKILL, "its supervisor died"});
  }
  lost_.clear();
}

std::set<pid_t> SpawnerProcess::known_pids() const {
  std::set<pid_t> known = supervisors_;
  if (interpreter_pid_ > 0) known.insert(interpreter_pid_);
  for (const auto& [attempt, tree] : trees_) {
    if (tree.pid > 0) known.insert(tree.pid);
  }
  return known;
}

int SpawnerProcess::milliseconds_to_wait() const {
  if (!lost_.empty()) return static_cast<int>(kSweepAgain.count());
  const bool waits_for_kill = std::any_of(trees_.begin(), trees_.end(), [](const auto& entry) {
    return entry.second.kill_supervisor_at.has_value();
  });
  if (waits_for_kill) return 200;
  return has_limits() ? static_cast<int>(kWatchLimits.count()) : -1;
}

// Closing its end tells every supervisor to kill its tree; whoever is late is killed from here.
void SpawnerProcess::end_everything() {
  daemon_.close();
  interpreter_.close();
  trees_.clear();
  const auto kill_at = SteadyClock::now() + kEndGrace;
  while (reap([](pid_t, int) {})) {
    if (SteadyClock::now() >= kill_at) kill_descendants();
    pollfd fd{signals_.get(), POLLIN, 0};
    ::poll(&fd, 1, static_cast<int>(kSweepAgain.count()));
    signalfd_siginfo signal{};
    while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    }
  }
}

int spawner_main(int control_fd) {
  ::prctl(PR_SET_NAME, "corisco-spawner");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::setsid();                          // Ctrl-C on the terminal is the daemon's to act on
  ::umask(077);
  FileDescriptor control(control_fd);
  ::fcntl(control.get(), F_SETFD, FD_CLOEXEC);
  SpawnerProcess(std::move(control)).run();
  return 0;
}
}  // namespace corisco::rollouts
