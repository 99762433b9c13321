#include "rollouts/wire.h"

#include <gtest/gtest.h>

namespace corisco::rollouts::wire {
namespace {
Launch sample_launch() {
  Launch launch;
  launch.attempt = {RolloutId{0x0102030405060708}, 9};
  launch.argv = {"sh", "-c", "", std::string("a\0b", 3)};
  launch.python_function = "f.py:g";
  launch.python_argument_json = "[1]";
  launch.env = {{"A", "1"}, {"B", "\xff\n"}};
  launch.work_folder = "/w";
  launch.output_file = "/o";
  launch.result_file = "/r";
  launch.output_bytes_max = 1ULL << 40;
  launch.memory_mb_max = 3;
  launch.tree_memory_mb_max = 4;
  launch.tree_processes_max = 5;
  return launch;
}

TEST(Wire, ALaunchComesBackWhole) {
  const Launch launch = sample_launch();
  const auto back = decode_launch(encode(launch));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->attempt, launch.attempt);
  EXPECT_EQ(back->argv, launch.argv);
  EXPECT_EQ(back->env, launch.env);
  EXPECT_EQ(back->python_function, launch.python_function);
  EXPECT_EQ(back->python_argument_json, launch.python_argument_json);
  EXPECT_EQ(back->result_file, launch.result_file);
  EXPECT_EQ(back->output_bytes_max, launch.output_bytes_max);
  EXPECT_EQ(back->memory_mb_max, launch.memory_mb_max);
  EXPECT_EQ(back->tree_memory_mb_max, launch.tree_memory_mb_max);
  EXPECT_EQ(back->tree_processes_max, launch.tree_processes_max);
}

TEST(Wire, ABodyCutAnywhereIsRefused) {
  const std::string body = encode(sample_launch());
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(decode_launch(body.substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_launch(body + "x"));
}

TEST(Wire, NegativeCodesAndErrorsSurvive) {
  const auto end = decode_end(encode(ProcessEnd{{RolloutId{1}, 2}, ProcessEnd::How::killed, -5, "why"}));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, -5);
  EXPECT_EQ(end->how, ProcessEnd::How::killed);
  EXPECT_EQ(end->error, "why");
}

TEST(Wire, AKillHasTheBytesThatTheInterpreterExpects) {
  // 16 bytes of body, 'K', rollout 7, attempt 2, grace 258.
  const std::string expected("\x10\0\0\0K\x07\0\0\0\0\0\0\0\x02\0\0\0\x02\x01\0\0", 21);
  EXPECT_EQ(encode_frame(Type::kill, encode(Kill{{RolloutId{7}, 2}, 258})), expected);
}

TEST(Wire, FramesAreFoundAtEverySplitPoint) {
  const std::string bytes = encode_frame(Type::launch, "abc") + encode_frame(Type::end, "");
  for (std::size_t split = 0; split <= bytes.size(); ++split) {
    std::string buffer, found;
    bool is_broken = false;
    for (const auto& part : {bytes.substr(0, split), bytes.substr(split)}) {
      buffer += part;
      while (const auto frame = take_frame(buffer, is_broken)) {
        found += static_cast<char>(frame->type) + frame->body + ";";
      }
    }
    EXPECT_EQ(found, "Labc;E;") << split;
    EXPECT_FALSE(is_broken);
  }
}

TEST(Wire, AnAbsurdLengthBreaksTheStream) {
  std::string buffer = "\xff\xff\xff\xffL";
  bool is_broken = false;
  EXPECT_FALSE(take_frame(buffer, is_broken));
  EXPECT_TRUE(is_broken);
}
}  // namespace
}  // namespace corisco::rollouts::wire
