// The spawner with real processes: what it starts, and above all what it leaves behind: nothing.
#include "corisco/rollouts/spawner.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "corisco/base/strings.h"
#include "rollouts/spawner_fixture.h"

namespace corisco::rollouts {
namespace {
using How = ProcessEnd::How;

// Three ways to outlive a parent, then the script goes on. Each sleeper appends its pid to "pids".
const char* const kSurvivors =
    ": >>pids; setsid sh -c 'echo $$ >>pids; exec sleep 1000' & "
    "(setsid sh -c '(echo $$; sh -c \"echo \\$PPID\") >>pids; sleep 1000 & exec sleep 1000' &) ; "
    "(trap '' TERM HUP; sh -c 'echo $$ >>pids; trap \"\" TERM; while :; do sleep 1; done' & ) ; "
    "while [ $(wc -l <pids) -lt 4 ]; do sleep 0.01; done; ";

std::vector<pid_t> pids_in(const std::string& path) {
  std::vector<pid_t> pids;
  std::ifstream in(path);
  for (pid_t pid = 0; in >> pid;) pids.push_back(pid);
  return pids;
}

int num_alive(const std::vector<pid_t>& pids) {
  int count = 0;
  for (const pid_t pid : pids) count += is_alive(pid) ? 1 : 0;
  return count;
}

TEST(Spawner, ReportsExitsAndSignals) {
  SpawnerDriver driver(test_options());
  ProcessEnd end = driver.run(driver.shell(1, "echo out; echo err >&2; exit 7"));
  EXPECT_EQ(end.how, How::exited);
  EXPECT_EQ(end.code, 7);
  EXPECT_EQ(driver.output(1), "out\nerr\n");
  end = driver.run(driver.shell(2, "kill -SEGV $$"));
  EXPECT_EQ(end.how, How::signalled);
  EXPECT_EQ(end.code, SIGSEGV);
  EXPECT_EQ(driver.run(driver.shell(3, "true")).code, 0);
}

TEST(Spawner, SaysWhyAProgramDidNotStart) {
  SpawnerDriver driver(test_options());
  Launch missing = driver.launch(1);
  missing.argv = {"no-such-program-here"};
  ProcessEnd end = driver.run(missing);
  EXPECT_EQ(end.how, How::not_started);
  EXPECT_EQ(end.error, "could not start no-such-program-here: No such file or directory");
  Launch homeless = driver.shell(2, "true");
  homeless.work_folder = "/no/such/folder";
  EXPECT_NE(driver.run(homeless).error.find("could not enter the folder /no/such/folder"),
            std::string::npos);
  Launch mute = driver.shell(3, "true");
  mute.output_file = "/no/such/folder/out.txt";
  EXPECT_NE(driver.run(mute).error.find("/no/such/folder/out.txt"), std::string::npos);
  Launch python = driver.launch(4);
  python.python_function = "x.py:f";
  EXPECT_EQ(driver.run(python).how, How::not_started);
}

TEST(Spawner, GivesExactlyTheSurroundingsThatWereAsked) {
  ::setenv("CORISCO_TEST_SECRET", "secret", 1);
  SpawnerDriver driver(test_options());
  Launch launch = driver.shell(1, "/usr/bin/env | sort; pwd; umask; ls /proc/self/fd | wc -l; cat; "
                                  "grep SigBlk /proc/self/status; readlink /proc/self/fd/0");
  launch.env["ONE"] = "1 =\n2";
  driver.run(launch);
  EXPECT_EQ(driver.output(1), cat("2\nONE=1 =\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=",
                                  driver.folder().path(), "\n", driver.folder().path(),
                                  "\n0077\n4\nSigBlk:\t0000000000000000\n/dev/null\n"));
}

TEST(Spawner, TakesLaunchesLargerThanASocketsBuffer) {
  SpawnerDriver driver(test_options());
  for (std::uint64_t id = 1; id <= 8; ++id) {
    Launch launch = driver.shell(id, "echo ${#A} ${#L}");
    launch.env["A"] = std::string(100000, 'a');
    launch.env["L"] = std::string(120000, 'l');
    for (int i = 0; i < 8; ++i) launch.env[cat("M", i)] = std::string(100000, 'm');
    driver.start(std::move(launch));
  }
  for (std::uint64_t id = 1; id <= 8; ++id) {
    EXPECT_EQ(driver.wait_for(id).code, 0);
    EXPECT_EQ(driver.output(id), "100000 120000\n");
  }
}

TEST(Spawner, KeepsOutputWithinBounds) {
  SpawnerDriver driver(test_options());
  Launch launch = driver.shell(1, "head -c 3000000 /dev/zero | tr '\\0' x; exit 3");
  launch.output_bytes_max = 1000;
  EXPECT_EQ(driver.run(launch).code, 3) << "writing too much must not hurt the harness";
  EXPECT_EQ(driver.output(1),
            std::string(1000, 'x') + "\n[2999000 more bytes of output were dropped]\n");
}

TEST(Spawner, LimitsMemory) {
  SpawnerDriver driver(test_options());
  Launch launch = driver.launch(1);
  launch.argv = {"python3", "-c", "import mmap; mmap.mmap(-1, 600 << 20)"};
  EXPECT_EQ(driver.run(launch).code, 0);
  launch.attempt.rollout = RolloutId{2};
  launch.memory_mb_max = 300;
  EXPECT_EQ(driver.run(launch).code, 1);
}

TEST(Spawner, EndsATreeThatHoldsTooMuchMemory) {
  SpawnerDriver driver(test_options());
  // Two children with 120 MB each: the tree counts, not each process.
  Launch launch = driver.shell(1, "for i in 1 2; do python3 -c 'import time; x = b\"a\" * (120 << 20); "
                                  "time.sleep(100)' & done; wait");
  launch.tree_memory_mb_max = 200;
  const ProcessEnd end = driver.run(launch);
  EXPECT_EQ(end.how, How::over_limit);
  EXPECT_NE(end.error.find("rollouts.tree_memory_mb_max is 200"), std::string::npos) << end.error;
}

TEST(Spawner, EndsATreeOfTooManyProcesses) {
  SpawnerDriver driver(test_options());
  Launch launch = driver.shell(1, "for i in 1 2 3 4 5 6; do sleep 100 & done; wait");
  launch.tree_processes_max = 5;
  const ProcessEnd end = driver.run(launch);
  EXPECT_EQ(end.how, How::over_limit);
  EXPECT_EQ(end.error, "it had 7 processes (rollouts.tree_processes_max is 5)");
  launch = driver.shell(2, "sleep 1.5; exit 4");
  launch.tree_processes_max = 5;
  EXPECT_EQ(driver.run(launch).code, 4) << "within its limits";
}

TEST(Spawner, NothingOutlivesTheHarness) {
  SpawnerDriver driver(test_options());
  const ProcessEnd end = driver.run(driver.shell(1, std::string(kSurvivors) + "exit 5"));
  EXPECT_EQ(end.how, How::exited);
  EXPECT_EQ(end.code, 5);
  const auto pids = pids_in(driver.folder() / "pids");
  ASSERT_EQ(pids.size(), 4U);
  EXPECT_EQ(num_alive(pids), 0) << "an end is reported when the tree is empty";
}

TEST(Spawner, AKillEndsTheWholeTree) {
  SpawnerDriver driver(test_options());
  driver.start(driver.shell(1, std::string(kSurvivors) + "touch ready; sleep 1000"));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(driver.folder() / "ready"); }));
  const auto pids = pids_in(driver.folder() / "pids");
  EXPECT_EQ(num_alive(pids), 4);
  driver.kill(1, 100);
  driver.kill(1, 100);
  EXPECT_EQ(driver.wait_for(1).how, How::killed);
  EXPECT_EQ(num_alive(pids), 0);
}

TEST(Spawner, SigtermComesFirstAndGraceIsGiven) {
  SpawnerDriver driver(test_options());
  driver.start(driver.shell(1, "trap 'echo tidy; exit 4' TERM; touch ready; while :; do sleep 0.02; done"));
  driver.start(driver.shell(2, "trap '' TERM; touch ready2; while :; do sleep 0.02; done"));
  ASSERT_TRUE(wait_until([&] {
    return std::filesystem::exists(driver.folder() / "ready") &&
           std::filesystem::exists(driver.folder() / "ready2");
  }));
  driver.kill(1, 10000);
  ProcessEnd end = driver.wait_for(1);
  EXPECT_EQ(end.how, How::killed);
  EXPECT_EQ(end.code, 4);
  EXPECT_NE(driver.output(1).find("tidy\n"), std::string::npos);
  const auto begin = std::chrono::steady_clock::now();
  driver.kill(2, 300);
  end = driver.wait_for(2);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(end.code, SIGKILL);
  EXPECT_GE(took.count(), 0.3);
  EXPECT_LT(took.count(), 2.0);
}

TEST(Spawner, AForkBombEnds) {
  SpawnerDriver driver(test_options());
  driver.start(driver.shell(1, "ulimit -u 400 2>/dev/null; i=0; while [ $i -lt 60 ]; do "
                               "(setsid sh -c 'while :; do sleep 0.01 & wait; done' &); i=$((i+1)); done; "
                               "touch ready; sleep 1000"));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(driver.folder() / "ready"); }));
  driver.kill(1, 0);
  EXPECT_EQ(driver.wait_for(1).how, How::killed);
}

TEST(Spawner, AKilledSupervisorLeaksNothing) {
  SpawnerDriver driver(test_options());
  driver.start(driver.shell(1, std::string(kSurvivors) + "echo $PPID >parent; sleep 1000"));
  driver.start(driver.shell(2, "sleep 0.3; echo fine"));
  ASSERT_TRUE(wait_until([&] { return !pids_in(driver.folder() / "parent").empty(); }));
  const auto pids = pids_in(driver.folder() / "pids");
  EXPECT_EQ(num_alive(pids), 4);
  ::kill(pids_in(driver.folder() / "parent")[0], SIGKILL);
  const ProcessEnd end = driver.wait_for(1);
  EXPECT_EQ(end.how, How::signalled);
  EXPECT_EQ(end.code, SIGKILL);
  EXPECT_EQ(num_alive(pids), 0);
  EXPECT_EQ(driver.wait_for(2).code, 0) << "its neighbour is untouched";
  EXPECT_EQ(driver.output(2), "fine\n");
}

TEST(Spawner, AStoppedSupervisorIsReplacedByForce) {
  SpawnerDriver driver(test_options());
  driver.start(driver.shell(1, "echo $$ >pids; kill -STOP $PPID; sleep 1000"));
  ASSERT_TRUE(wait_until([&] { return !pids_in(driver.folder() / "pids").empty(); }));
  driver.kill(1, 0);
  EXPECT_EQ(driver.wait_for(1).how, How::signalled);
  EXPECT_EQ(num_alive(pids_in(driver.folder() / "pids")), 0);
}

TEST(Spawner, ItsOwnDeathIsReportedAndLeaksNothing) {
  SpawnerDriver driver(test_options());
  driver.start(driver.shell(1, std::string(kSurvivors) +
                                   "cut -d' ' -f4 /proc/$PPID/stat >spawner; sleep 1000"));
  ASSERT_TRUE(wait_until([&] { return !pids_in(driver.folder() / "spawner").empty(); }));
  const auto pids = pids_in(driver.folder() / "pids");
  ::kill(pids_in(driver.folder() / "spawner")[0], SIGKILL);
  const ProcessEnd end = driver.wait_for(1);
  EXPECT_EQ(end.how, How::not_started);
  EXPECT_EQ(end.error, "the spawner process has died");
  EXPECT_FALSE(driver.spawner().is_alive());
  EXPECT_TRUE(wait_until([&] { return num_alive(pids) == 0; }, 1)) << num_alive(pids) << " alive";
  EXPECT_EQ(driver.run(driver.shell(2, "true")).how, How::not_started);
}

TEST(Spawner, ItsDestructorEndsEveryTree) {
  std::vector<pid_t> pids;
  {
    SpawnerDriver driver(test_options());
    driver.start(driver.shell(1, std::string(kSurvivors) + "touch ready; sleep 1000"));
    ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(driver.folder() / "ready"); }));
    pids = pids_in(driver.folder() / "pids");
    EXPECT_EQ(num_alive(pids), 4);
  }
  EXPECT_EQ(num_alive(pids), 0);
}

// The daemon of the next test: starts trees, says so on the pipe, then does nothing.
[[noreturn]] void be_daemon(int ready_fd, const std::string& mark, const std::string& python_file) {
  SpawnerDriver driver(python_options({python_file}));
  for (std::uint64_t id = 1; id <= 6; ++id) {
    Launch launch = driver.shell(id, std::string(kSurvivors) + cat("touch ready", id, "; sleep 1000"));
    if (id > 4) {
      launch.argv.clear();
      launch.python_function = python_file + ":leave_children";
      launch.python_argument_json = cat("[\"ready", id, "\"]");
    }
    launch.work_folder = driver.folder() / std::to_string(id);
    std::filesystem::create_directory(launch.work_folder);
    launch.env["MARK"] = mark;
    driver.start(std::move(launch));
  }
  const bool is_ready = wait_until([&] {
    for (int id = 1; id <= 6; ++id) {
      if (!std::filesystem::exists(driver.folder() / cat(id, "/ready", id))) return false;
    }
    return true;
  });
  if (is_ready && ::write(ready_fd, "r", 1) == 1) ::pause();
  ::_exit(1);
}

TEST(Spawner, AKilledDaemonLeavesNoProcess) {
  const TemporaryFolder folder;
  const std::string file = folder.write("leaver.py",
      "import os, subprocess, time\n"
      "def leave_children(ready):\n"
      "    for i in range(3):\n"
      "        subprocess.Popen(['sh', '-c', \"trap '' TERM; while :; do sleep 1; done\"],\n"
      "                         start_new_session=True)\n"
      "    open(ready, 'w').close()\n"
      "    time.sleep(1000)\n");
  const std::string mark = cat("corisco-mark-", ::getpid());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    ::setenv("TMPDIR", folder.path().c_str(), 1);  // what it cannot clean up any more, this test does
    be_daemon(ends[1], mark, file);
  }
  ::close(ends[1]);
  char byte = 0;
  const bool is_ready = ::read(ends[0], &byte, 1) == 1;
  ::close(ends[0]);
  const auto num_before = marked_processes(mark).size();
  ::kill(daemon, SIGKILL);
  ::waitpid(daemon, nullptr, 0);
  ASSERT_TRUE(is_ready);
  // Four shells with at least four sleepers each, and three shells below each Python function.
  EXPECT_GE(num_before, 4U * 5 + 2 * 3);
  EXPECT_TRUE(wait_until([&] { return marked_processes(mark).empty(); }, 1))
      << marked_processes(mark).size() << " of " << num_before << " processes are left";
}
}  // namespace
}  // namespace corisco::rollouts
