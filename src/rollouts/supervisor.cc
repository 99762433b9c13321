#include "rollouts/supervisor.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <optional>

#include "rollouts/frame_stream.h"
#include "rollouts/output_file.h"
#include "rollouts/process_start.h"
#include "rollouts/process_tree.h"

namespace corisco::rollouts {
namespace {
using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;
constexpr milliseconds kLeftoverGrace{100};   // what a harness leaves running, between SIGTERM and SIGKILL
constexpr milliseconds kKillAgain{5};         // between two looks at a tree that is being killed

ProcessEnd end_of(AttemptKey attempt, int status) {
  if (WIFSIGNALED(status)) return {attempt, ProcessEnd::How::signalled, WTERMSIG(status), {}};
  return {attempt, ProcessEnd::How::exited, WEXITSTATUS(status), {}};
}

class Supervisor {
 public:
  Supervisor(FileDescriptor control, const Launch& launch, OutputFile output)
      : control_(std::move(control)), launch_(launch), output_(std::move(output)) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);      // the spawner died (PR_SET_PDEATHSIG), or somebody asks
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    signals_ = FileDescriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  // Consumes kill requests, signals and output; waits for the tree to be empty.
  void run() {
    auto started = start_process({launch_.argv, launch_.env, launch_.work_folder,
                                  output_.write_end(), -1, launch_.memory_mb_max});
    output_.close_write_end();
    if (!started.ok()) {
      report({launch_.attempt, ProcessEnd::How::not_started, 0, started.error().message});
      return;
    }
    harness_ = started.value();
    while (reap([this](pid_t pid, int status) { note_end(pid, status); })) {
      end_leftovers();
      kill_if_due();
      wait();
    }
    output_.finish();
    ProcessEnd end = end_of(launch_.attempt, status_.value_or(0));
    if (was_killed_) end.how = ProcessEnd::How::killed;
    report(end);
  }

 private:
  void note_end(pid_t pid, int status) {
    if (pid == harness_) status_ = status;
  }

  void end_leftovers() {
    if (status_ && !kill_at_) end_tree(kLeftoverGrace);
  }

  void end_tree(milliseconds grace) {
    const auto kill_at = SteadyClock::now() + grace;
    if (!kill_at_ && grace.count() > 0) signal_all(descendants(), SIGTERM);
    kill_at_ = kill_at_ ? std::min(*kill_at_, kill_at) : kill_at;
  }

  void kill_if_due() {
    if (kill_at_ && SteadyClock::now() >= *kill_at_) kill_descendants();
  }

  int milliseconds_to_wait() const {
    if (!kill_at_) return -1;
    const auto left = std::chrono::ceil<milliseconds>(*kill_at_ - SteadyClock::now());
    return static_cast<int>(std::max(left, kKillAgain).count());
  }

  void wait() {
    std::array<pollfd, 3> fds{{{control_.fd(), POLLIN, 0},
                               {signals_.get(), POLLIN, 0},
                               {output_.read_end(), POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), milliseconds_to_wait());
    if (fds[0].revents != 0) obey();
    if (fds[1].revents != 0) take_signals();
    if (fds[2].revents != 0) output_.copy_available();
  }

  void obey() {
    const bool is_there = control_.read_available();
    while (const auto frame = control_.take()) {
      const auto kill = wire::decode_kill(frame->body);
      if (frame->type != wire::Type::kill || !kill) continue;
      was_killed_ = was_killed_ || !status_;
      end_tree(milliseconds(kill->grace_ms));
    }
    if (is_there) return;
    control_.close();
    was_killed_ = true;
    end_tree(milliseconds(0));
  }

  void take_signals() {
    signalfd_siginfo signal{};
    while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
      if (signal.ssi_signo != SIGTERM) continue;
      was_killed_ = true;
      end_tree(milliseconds(0));
    }
  }

  void report(const ProcessEnd& end) {
    if (!control_.is_open()) return;
    control_.send(wire::Type::end, wire::encode(end));
    constexpr int kReportMs = 1000;
    while (control_.has_unsent()) {
      pollfd fd{control_.fd(), POLLOUT, 0};
      if (::poll(&fd, 1, kReportMs) <= 0 || !control_.flush()) return;
    }
  }

  FrameStream control_;
  const Launch& launch_;
  OutputFile output_;
  FileDescriptor signals_;
  pid_t harness_ = 0;
  std::optional<int> status_;          // of the harness, once it has ended
  bool was_killed_ = false;
  std::optional<SteadyClock::time_point> kill_at_;
};
}  // namespace

int supervise(FileDescriptor control, const Launch& launch) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  auto output = OutputFile::create(launch.output_file, launch.output_bytes_max);
  if (!output.ok()) {
    FrameStream stream(std::move(control));
    const ProcessEnd end{launch.attempt, ProcessEnd::How::not_started, 0, output.error().message};
    stream.send(wire::Type::end, wire::encode(end));
    return 1;
  }
  Supervisor(std::move(control), launch, std::move(output).value()).run();
  return 0;
}
}  // namespace corisco::rollouts
