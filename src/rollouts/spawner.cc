#include "corisco/rollouts/spawner.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "corisco/base/assert.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "rollouts/environment.h"
#include "rollouts/frame_stream.h"
#include "rollouts/process_start.h"
#include "rollouts/python_host_script.h"

namespace corisco::rollouts {
namespace {
using boost::asio::posix::stream_descriptor;

Error failed(const std::string& why) {
  return Error{Code::unavailable, cat("could not start the spawner: ", why)};
}

// How the spawner starts the interpreter, or nothing in argv.
Launch interpreter_launch(const SpawnerOptions& options) {
  Launch launch;
  if (options.python_interpreter.empty()) return launch;
  launch.argv = {options.python_interpreter, "-u", "-c", kPythonHostScript};
  launch.argv.insert(launch.argv.end(), options.python_preload.begin(),
                     options.python_preload.end());
  launch.env = options.python_env;
  return launch;
}

// Waits for the frame that says that everything is imported.
Result<void> wait_until_ready(FrameStream& stream) {
  for (;;) {
    pollfd fd{stream.fd(), static_cast<short>(POLLIN | (stream.has_unsent() ? POLLOUT : 0)), 0};
    ::poll(&fd, 1, -1);
    const bool is_there = stream.flush() && stream.read_available();
    if (const auto frame = stream.take()) {
      if (frame->body.empty()) return {};
      return Error{Code::invalid_argument,
                   cat("the Python interpreter of harness and reward: ", frame->body)};
    }
    if (!is_there) return failed("it ended at once");
  }
}
}  // namespace

SpawnerOptions spawner_options(const config::Rollouts& rollouts, std::string executable) {
  SpawnerOptions options;
  options.executable = std::move(executable);
  const bool grades = rollouts.reward.source == "python";
  const auto& harness = rollouts.harness;
  if (harness.python.empty() && !grades) return options;
  options.python_interpreter = harness.python_interpreter;
  options.python_preload = harness.python_preload;
  if (!harness.python.empty()) options.python_preload.push_back(harness.python);
  if (grades) options.python_preload.push_back(rollouts.reward.python);
  options.python_env = passed_environment(harness.env_pass);
  return options;
}

struct Spawner::State : std::enable_shared_from_this<Spawner::State> {
  FrameStream stream;
  pid_t pid = 0;
  bool is_alive = true;
  boost::asio::io_context* io = nullptr;
  std::optional<stream_descriptor> watched;   // the same descriptor as stream's, owned by stream
  bool is_writing = false;
  std::map<AttemptKey, OnEnd> running;

  void wait_to_read() {
    watched->async_wait(stream_descriptor::wait_read,
                        [weak = weak_from_this()](const boost::system::error_code& error) {
                          const auto self = weak.lock();
                          if (self && !error && self->is_alive) self->read();
                        });
  }

  void read() {
    const bool is_there = stream.read_available();
    while (const auto frame = stream.take()) {
      if (frame->type != wire::Type::end) continue;
      if (auto end = wire::decode_end(frame->body)) report(std::move(*end));
    }
    if (is_there && stream.is_open()) {
      wait_to_read();
    } else {
      note_death();
    }
  }

  // Writes what is queued, now and whenever the socket takes more.
  void write() {
    if (!stream.flush() || !stream.has_unsent() || !watched || is_writing) return;
    is_writing = true;
    watched->async_wait(stream_descriptor::wait_write,
                        [weak = weak_from_this()](const boost::system::error_code& error) {
                          const auto self = weak.lock();
                          if (!self || error || !self->is_alive) return;
                          self->is_writing = false;
                          self->write();
                        });
  }

  void report(ProcessEnd end) {
    auto found = running.extract(end.attempt);
    if (!found.empty()) found.mapped()(std::move(end));
  }

  // Its supervisors see its death too and end their trees.
  void note_death() {
    log::error("the spawner process has died; no harness can be started any more");
    is_alive = false;
    auto lost = std::exchange(running, {});
    for (auto& [attempt, on_end] : lost) {
      on_end({attempt, ProcessEnd::How::not_started, 0, "the spawner process has died"});
    }
  }

  void end_process() {
    is_alive = false;
    if (watched) watched->release();
    watched.reset();
    stream.close();
    constexpr int kWaitsMax = 500;
    for (int i = 0; i < kWaitsMax; ++i) {
      const pid_t ended = ::waitpid(pid, nullptr, WNOHANG);
      if (ended == pid || (ended < 0 && errno != EINTR)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
};

Result<std::unique_ptr<Spawner>> Spawner::create(const SpawnerOptions& options) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return failed(std::strerror(errno));
  }
  FileDescriptor ours(ends[0]), theirs(ends[1]);
  ProcessStart start;
  start.argv = {options.executable, "__spawner", std::to_string(kKeptFd)};
  start.env = passed_environment({"LD_LIBRARY_PATH"});
  start.kept_fd = theirs.get();
  start.is_killed_with_parent = false;  // it has trees to end first
  CORISCO_TRY(const pid_t pid, start_process(start));
  theirs.reset();
  auto state = std::make_shared<State>();
  state->stream = FrameStream(std::move(ours));
  state->pid = pid;
  std::unique_ptr<Spawner> spawner(new Spawner(state));
  state->stream.send(wire::Type::options, wire::encode(interpreter_launch(options)));
  CORISCO_CHECK(wait_until_ready(state->stream));
  return spawner;
}

Spawner::Spawner(std::shared_ptr<State> state) : state_(std::move(state)) {}

Spawner::~Spawner() { state_->end_process(); }

void Spawner::attach(boost::asio::io_context& io) {
  CORISCO_ASSERT(state_->io == nullptr, std::string("a spawner is attached once"));
  state_->io = &io;
  state_->watched.emplace(io, state_->stream.fd());
  state_->wait_to_read();
  state_->write();
}

void Spawner::start(Launch launch, OnEnd on_end) {
  if (!state_->is_alive) {
    CORISCO_ASSERT(state_->io != nullptr, std::string("a start after death but before attach"));
    ProcessEnd end{launch.attempt, ProcessEnd::How::not_started, 0, "the spawner process has died"};
    boost::asio::post(*state_->io, [on_end = std::move(on_end), end = std::move(end)] { on_end(end); });
    return;
  }
  const bool is_new = state_->running.emplace(launch.attempt, std::move(on_end)).second;
  CORISCO_ASSERT(is_new, cat("rollout ", launch.attempt.rollout, " attempt ", launch.attempt.attempt,
                             " has a process already"));
  state_->stream.send(wire::Type::launch, wire::encode(launch));
  state_->write();
}

void Spawner::kill(AttemptKey attempt, std::uint32_t grace_ms) {
  if (!state_->is_alive || !state_->running.contains(attempt)) return;
  state_->stream.send(wire::Type::kill, wire::encode(wire::Kill{attempt, grace_ms}));
  state_->write();
}

bool Spawner::is_alive() const { return state_->is_alive; }
}  // namespace corisco::rollouts
