#include "rollouts/process_start.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "corisco/base/strings.h"
#include "rollouts/file_descriptor.h"

namespace corisco::rollouts {
namespace {
constexpr int kStatusFd = 4;           // closed by a successful exec

struct Failure {
  int error = 0;
  char what = 0;                       // f: the work folder, e: the program, s: anything else
};

[[noreturn]] void fail(int status_fd, char what) {
  const Failure failure{errno, what};
  if (::write(status_fd, &failure, sizeof failure) < 0) ::_exit(126);
  ::_exit(127);
}

void set_default_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void set_limit(__rlimit_resource resource, rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  ::setrlimit(resource, &limit);
}

// Descriptors 0, 1, 2, the kept one and the status pipe; all others are closed. The sources are
// moved up first, since a source may lie where another one has to go.
bool arrange_descriptors(const ProcessStart& start, int status_fd) {
  constexpr int kAbove = 10;
  const int null_fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int output = ::fcntl(start.output_fd, F_DUPFD_CLOEXEC, kAbove);
  const int kept = start.kept_fd < 0 ? -1 : ::fcntl(start.kept_fd, F_DUPFD_CLOEXEC, kAbove);
  const int status = ::fcntl(status_fd, F_DUPFD_CLOEXEC, kAbove);
  if (null_fd < 0 || output < 0 || status < 0) return false;
  ::dup2(null_fd, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  if (kept >= 0) {
    ::dup2(kept, kKeptFd);
  } else {
    ::close(kKeptFd);
  }
  ::dup3(status, kStatusFd, O_CLOEXEC);
  ::syscall(SYS_close_range, kStatusFd + 1, ~0U, 0);
  return true;
}

[[noreturn]] void become(const ProcessStart& start, int status_fd, pid_t parent) {
  set_default_signals();
  ::prctl(PR_SET_PDEATHSIG, start.is_killed_with_parent ? SIGKILL : SIGTERM);
  if (::getppid() != parent) ::_exit(126);
  ::setsid();
  ::umask(077);
  if (!arrange_descriptors(start, status_fd)) fail(status_fd, 's');
  if (!start.work_folder.empty() && ::chdir(start.work_folder.c_str()) != 0) fail(kStatusFd, 'f');
  set_limit(RLIMIT_CORE, 0);
  if (start.memory_mb_max > 0) set_limit(RLIMIT_AS, start.memory_mb_max << 20);
  std::vector<std::string> pairs;
  for (const auto& [name, value] : start.env) pairs.push_back(cat(name, "=", value));
  std::vector<char*> environment, arguments;
  for (auto& pair : pairs) environment.push_back(pair.data());
  environment.push_back(nullptr);
  for (const auto& argument : start.argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::environ = environment.data();
  ::execvp(arguments[0], arguments.data());
  fail(kStatusFd, 'e');
}

Error why_not(const ProcessStart& start, const Failure& failure) {
  const char* reason = std::strerror(failure.error);
  if (failure.what == 'f') {
    return Error{Code::unavailable, cat("could not enter the folder ", start.work_folder, ": ", reason)};
  }
  return Error{Code::unavailable, cat("could not start ", start.argv[0], ": ", reason)};
}
}  // namespace

Result<pid_t> start_process(const ProcessStart& start) {
  if (start.argv.empty()) return Error{Code::invalid_argument, "a command without a program"};
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return why_not(start, {errno, 's'});
  FileDescriptor status_read(ends[0]), status_write(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return why_not(start, {errno, 's'});
  if (pid == 0) become(start, status_write.get(), parent);
  status_write.reset();
  Failure failure;
  ssize_t count = 0;
  do {
    count = ::read(status_read.get(), &failure, sizeof failure);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof failure) return pid;
  ::waitpid(pid, nullptr, 0);
  return why_not(start, failure);
}
}  // namespace corisco::rollouts
