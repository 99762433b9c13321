// The spawner: a process of its own, re-executed before any thread exists, that starts every
// harness, is the subreaper of all of them, sees the daemon die by any means, and then ends every tree.
// The class here is the daemon's end of it, owned by the io thread.
#pragma once
#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/config/config.h"
#include "corisco/rollouts/sandbox.h"

namespace corisco::rollouts {
struct SpawnerOptions {
  // The daemon's binary, re-executed as `corisco __spawner FD`.
  std::string executable;
  // For python functions; empty interpreter: no warmed interpreter is started.
  std::string python_interpreter;
  // Modules; files as "file.py", or "file.py:function" if the function must be there.
  std::vector<std::string> python_preload;
  // The interpreter's own environment while it imports; a child gets its Launch's.
  std::map<std::string, std::string> python_env;
};
// What the config asks for: the interpreter only if a harness or a reward is a Python function,
// with those files and functions after harness.python_preload.
SpawnerOptions spawner_options(const config::Rollouts& rollouts, std::string executable);

class Spawner final : public Sandbox {
 public:
  // Starts the process. Must be called before any thread exists. Blocks until the warmed
  // interpreter (if any) has imported everything; the error carries its traceback.
  static Result<std::unique_ptr<Spawner>> create(const SpawnerOptions& options);
  ~Spawner() override;                             // ends every tree, waits for it
  // From now on ends are reported on this io_context, which must outlive this object.
  void attach(boost::asio::io_context& io);
  // An attempt has one process at a time: the next one may start once the end was reported.
  void start(Launch launch, OnEnd on_end) override;
  void kill(AttemptKey attempt, std::uint32_t grace_ms) override;
  bool is_alive() const;

 private:
  struct State;
  explicit Spawner(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// The spawner process's own main; called by `corisco __spawner FD`. Returns its exit code.
int spawner_main(int control_fd);
}  // namespace corisco::rollouts
