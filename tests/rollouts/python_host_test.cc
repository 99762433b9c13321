// Python functions in children of the warmed interpreter.
#include <gtest/gtest.h>

#include <cstdio>

#include "corisco/base/strings.h"
#include "rollouts/reward.h"
#include "rollouts/spawner_fixture.h"

namespace corisco::rollouts {
namespace {
using How = ProcessEnd::How;

const char* const kFunctions = R"(
import os, sys, subprocess, time
import sibling_module
count = 0

def harness(task):
    global count
    count += 1
    print("task", task["id"], "count", count, sorted(os.environ))
    print("err", file=sys.stderr)

def fail(task):
    raise ValueError("no luck with " + task["id"])

def grade(task, rollout):
    if task["id"] == "bool": return True
    if task["id"] == "nan": return float("nan")
    if task["id"] == "text": return "1.0"
    if task["id"] == "none": return None
    return sibling_module.half(len(rollout["calls"])), "calls: %d" % len(rollout["calls"])

async def later(task):
    return 3

def leave(task):
    for i in range(2):
        child = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"],
                                 start_new_session=True)
        print(child.pid)

def wait_forever(task):
    print(os.getpid(), flush=True)
    open("waiting", "w").close()
    time.sleep(1000)

def loud(task):
    print("x" * 5000)

def stop(task):
    sys.exit(3)

def hungry(task):
    return len(bytearray(2 << 30))
)";

class PythonHost : public ::testing::Test {
 protected:
  PythonHost() {
    sources_.write("sibling_module.py", "def half(n):\n    return n / 2\n");
    file_ = sources_.write("functions.py", kFunctions);
    driver_ = std::make_unique<SpawnerDriver>(python_options({"json", file_, file_ + ":grade"}));
  }
  Launch call(std::uint64_t id, const std::string& function, const std::string& arguments) {
    Launch launch = driver_->launch(id);
    launch.python_function = file_ + ":" + function;
    launch.python_argument_json = arguments;
    return launch;
  }
  ProcessEnd run(std::uint64_t id, const std::string& function, const std::string& arguments) {
    return driver_->run(call(id, function, arguments));
  }
  TemporaryFolder sources_;
  std::string file_;
  std::unique_ptr<SpawnerDriver> driver_;
};

TEST_F(PythonHost, CallsAFunctionInAChildOfItsOwn) {
  for (std::uint64_t id = 1; id <= 2; ++id) {
    const ProcessEnd end = run(id, "harness", R"([{"id": "a"}])");
    EXPECT_EQ(end.how, How::exited);
    EXPECT_EQ(end.code, 0);
    EXPECT_EQ(driver_->output(id), "task a count 1 ['PATH']\nerr\n");
  }
}

TEST_F(PythonHost, AnExceptionIsItsTraceback) {
  const ProcessEnd end = run(1, "fail", R"([{"id": "a"}])");
  EXPECT_EQ(end.how, How::exited);
  EXPECT_EQ(end.code, 1);
  EXPECT_NE(driver_->output(1).find("ValueError: no luck with a"), std::string::npos);
  const auto result = parse_function_reward(driver_->result(1));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("functions.py\", line"), std::string::npos);
  EXPECT_EQ(run(2, "stop", R"([{}])").code, 3);
  EXPECT_EQ(run(3, "nothing_there", R"([{}])").code, 1);
}

TEST_F(PythonHost, RewardsComeBack) {
  const auto grade = [&](std::uint64_t id, const std::string& task) {
    run(id, "grade", cat("[{\"id\": \"", task, "\"}, {\"calls\": [{}, {}, {}]}]"));
    return parse_function_reward(driver_->result(id));
  };
  const auto noted = grade(1, "x");
  ASSERT_TRUE(noted.ok()) << noted.error().message;
  EXPECT_DOUBLE_EQ(noted.value().value, 1.5);
  EXPECT_EQ(noted.value().note, "calls: 3");
  EXPECT_DOUBLE_EQ(grade(2, "bool").value().value, 1);
  EXPECT_NE(grade(3, "nan").error().message.find("(nan)"), std::string::npos);
  EXPECT_NE(grade(4, "text").error().message.find("a JSON string ('1.0')"), std::string::npos);
  EXPECT_NE(grade(5, "none").error().message.find("(None)"), std::string::npos);
  run(6, "later", "[{}]");
  EXPECT_DOUBLE_EQ(parse_function_reward(driver_->result(6)).value().value, 3);
}

TEST_F(PythonHost, NothingOutlivesTheFunction) {
  EXPECT_EQ(run(1, "leave", "[{}]").code, 0);
  std::istringstream pids(driver_->output(1));
  int num_pids = 0;
  for (pid_t pid = 0; pids >> pid; ++num_pids) EXPECT_FALSE(is_alive(pid));
  EXPECT_EQ(num_pids, 2);
}

TEST_F(PythonHost, AKillEndsIt) {
  driver_->start(call(1, "wait_forever", "[{}]"));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(driver_->folder() / "waiting"); }));
  driver_->kill(1, 1000);
  const ProcessEnd end = driver_->wait_for(1);
  EXPECT_EQ(end.how, How::killed);
  EXPECT_EQ(end.code, SIGTERM);
  EXPECT_FALSE(is_alive(std::stoi(driver_->output(1))));
}

TEST_F(PythonHost, KeepsOutputAndMemoryWithinBounds) {
  Launch loud = call(1, "loud", "[{}]");
  loud.output_bytes_max = 10;
  EXPECT_EQ(driver_->run(loud).code, 0);
  EXPECT_EQ(driver_->output(1), "xxxxxxxxxx\n[4991 more bytes of output were dropped]\n");
  Launch hungry = call(2, "hungry", "[{}]");
  hungry.memory_mb_max = 1000;
  EXPECT_EQ(driver_->run(hungry).code, 1);
  EXPECT_NE(driver_->output(2).find("MemoryError"), std::string::npos);
}

TEST_F(PythonHost, ManyRunAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  constexpr std::uint64_t kLaunches = 32;
  for (std::uint64_t id = 1; id <= kLaunches; ++id) {
    driver_->start(call(id, "grade", R"([{"id": "x"}, {"calls": []}])"));
  }
  for (std::uint64_t id = 1; id <= kLaunches; ++id) EXPECT_EQ(driver_->wait_for(id).code, 0);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  std::printf("a forked call took %.1f ms\n", took.count() / kLaunches);
}

TEST_F(PythonHost, ItsDeathFailsLaterLaunchesWithAReason) {
  Launch launch = call(2, "harness", R"([{"id": "a"}])");
  // The interpreter is the parent of a supervisor, the grandparent of a function.
  sources_.write("killer.py", "import os, signal\n"
                              "def kill(task):\n"
                              "    stat = open('/proc/%d/stat' % os.getppid()).read()\n"
                              "    os.kill(int(stat.rpartition(')')[2].split()[1]), signal.SIGKILL)\n"
                              "    signal.pause()\n");
  Launch killer = driver_->launch(3);
  killer.python_function = sources_ / "killer.py:kill";
  killer.python_argument_json = "[{}]";
  EXPECT_EQ(driver_->run(killer).how, How::killed);
  const ProcessEnd end = driver_->run(launch);
  EXPECT_EQ(end.how, How::not_started);
  EXPECT_NE(end.error.find("interpreter"), std::string::npos);
  EXPECT_EQ(driver_->run(driver_->shell(4, "true")).code, 0) << "commands still start";
}

TEST(PythonHostStart, AFailedImportIsAnErrorWithItsTraceback) {
  const TemporaryFolder folder;
  const auto broken = folder.write("broken.py", "import json\nimport no_such_module_here\n");
  auto created = Spawner::create(python_options({"json", broken}));
  ASSERT_FALSE(created.ok());
  EXPECT_NE(created.error().message.find("could not import " + broken), std::string::npos);
  EXPECT_NE(created.error().message.find("broken.py\", line 2"), std::string::npos);
  EXPECT_NE(created.error().message.find("No module named 'no_such_module_here'"), std::string::npos);
  const auto fine = folder.write("fine.py", "def f(): pass\n");
  created = Spawner::create(python_options({fine + ":g"}));
  ASSERT_FALSE(created.ok());
  EXPECT_NE(created.error().message.find("has no function g"), std::string::npos);
}

TEST(PythonHostStart, AMissingInterpreterIsAnError) {
  auto options = python_options({});
  options.python_interpreter = "python-that-is-not-there";
  const auto created = Spawner::create(options);
  ASSERT_FALSE(created.ok());
  EXPECT_NE(created.error().message.find("could not start python-that-is-not-there"), std::string::npos);
}

TEST(PythonHostStart, OptionsFollowTheConfig) {
  config::Rollouts rollouts;
  EXPECT_EQ(spawner_options(rollouts, "/x").python_interpreter, "");
  rollouts.harness.python = "/h.py:run";
  rollouts.harness.python_preload = {"openai"};
  rollouts.reward.python = "/r.py:grade";
  EXPECT_EQ(spawner_options(rollouts, "/x").python_preload,
            (std::vector<std::string>{"openai", "/h.py:run"})) << "the reward comes from a file";
  rollouts.reward.source = "python";
  const auto options = spawner_options(rollouts, "/x");
  EXPECT_EQ(options.python_preload, (std::vector<std::string>{"openai", "/h.py:run", "/r.py:grade"}));
  EXPECT_EQ(options.python_interpreter, "python3");
  EXPECT_EQ(options.executable, "/x");
}
}  // namespace
}  // namespace corisco::rollouts
