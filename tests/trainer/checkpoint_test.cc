// Checkpoints: bit-equal after a restore, whole or not there, damage found, old ones pruned.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "corisco/base/files.h"
#include "corisco/trainer/trainer.h"
#include "support/temporary_folder.h"
#include "trainer/batch_builder.h"
#include "trainer/checkpoint_folder.h"
#include "trainer/tiny_decoder.h"

namespace corisco::trainer {
namespace {
namespace fs = std::filesystem;

Result<void> put(const std::string& path, const std::string& text) {
  return files::write_atomically(path, text);
}

std::string write_step(const std::string& parent, std::uint64_t step, const std::string& text = "content") {
  return write_checkpoint_folder(parent, step,
                                 [&](const std::string& folder) { return put(folder + "/a", text); })
      .value();
}

void flip_byte(const std::string& path, std::streamoff offset) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(offset);
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(offset);
  file.put(byte);
}

std::vector<std::string> names(const std::string& folder) {
  std::vector<std::string> result;
  for (const auto& entry : fs::directory_iterator(folder)) result.push_back(entry.path().filename());
  std::ranges::sort(result);
  return result;
}

TEST(CheckpointFolder, IsWholeAndVerifies) {
  const support::TemporaryFolder folder;
  const std::string written = write_step(folder.path(), 12);
  EXPECT_EQ(written, folder / "step-000012");
  EXPECT_TRUE(verify_checkpoint_folder(written).ok());
  EXPECT_EQ(names(folder.path()), std::vector<std::string>{"step-000012"});
}

TEST(CheckpointFolder, NeverOverwrites) {
  const support::TemporaryFolder folder;
  write_step(folder.path(), 12, "first");
  EXPECT_EQ(write_step(folder.path(), 12, "second"), folder / "step-000012-2");
  EXPECT_EQ(files::read(folder / "step-000012/a").value(), "first");
  EXPECT_EQ(checkpoint_folders(folder.path()),
            (std::vector<std::string>{folder / "step-000012-2", folder / "step-000012"}));
}

TEST(CheckpointFolder, AFailedWriterLeavesNothing) {
  const support::TemporaryFolder folder;
  const auto written =
      write_checkpoint_folder(folder.path(), 1, [](const std::string& aside) -> Result<void> {
        CORISCO_CHECK(put(aside + "/a", "half"));
        return Error{Code::unavailable, "disk full"};
      });
  EXPECT_FALSE(written.ok());
  EXPECT_TRUE(names(folder.path()).empty());
}

TEST(CheckpointFolder, AKilledWriterIsIgnoredAndSweptAway) {
  const support::TemporaryFolder folder;
  write_step(folder.path(), 3);
  fs::create_directories(folder / "tmp-4-999");
  ASSERT_TRUE(put(folder / "tmp-4-999/a", "half").ok());
  EXPECT_EQ(checkpoint_folders(folder.path()), std::vector<std::string>{folder / "step-000003"});
  remove_unfinished_checkpoints(folder.path());
  EXPECT_EQ(names(folder.path()), std::vector<std::string>{"step-000003"});
}

TEST(CheckpointFolder, AnyFlippedByteIsFound) {
  const support::TemporaryFolder folder;
  const std::string written = write_step(folder.path(), 1);
  flip_byte(written + "/a", 3);
  const auto verdict = verify_checkpoint_folder(written);
  ASSERT_FALSE(verdict.ok());
  EXPECT_NE(verdict.error().message.find("damaged"), std::string::npos);
  flip_byte(written + "/a", 3);
  EXPECT_TRUE(verify_checkpoint_folder(written).ok());
  fs::resize_file(written + "/a", 2);
  EXPECT_FALSE(verify_checkpoint_folder(written).ok());
  fs::remove(written + "/a");
  EXPECT_FALSE(verify_checkpoint_folder(written).ok());
  fs::remove(written + "/manifest.json");
  EXPECT_FALSE(verify_checkpoint_folder(written).ok());
}

TEST(CheckpointFolder, KeepsTheNewest) {
  const support::TemporaryFolder folder;
  for (const std::uint64_t step : {9, 10, 100, 1000000}) write_step(folder.path(), step);
  prune_checkpoints(folder.path(), folder / "step-1000000", 2);
  EXPECT_EQ(names(folder.path()), (std::vector<std::string>{"step-000100", "step-1000000"}));
}

TrainBatch batch_at(std::uint64_t version) {
  const std::string mask = "...xxx";
  TrainBatch batch;
  batch.groups = {make_group(version, {make_rollout(0, 1, {make_row({1, 2, 3, 4, 5, 6}, mask, version)}),
                                       make_rollout(1, 0, {make_row({1, 2, 3, 9, 8, 7}, mask, version)}),
                                       make_rollout(2, 0, {make_row({1, 2, 3, 9, 5, 5}, mask, version)})})};
  return batch;
}

void train(Trainer& trainer, std::uint64_t until) {
  while (trainer.version().value < until) {
    trainer.begin(batch_at(trainer.version().value), trainer.version());
    while (trainer.advance()) {
    }
    ASSERT_FALSE(trainer.publish().was_skipped);
  }
}

struct Bench {
  explicit Bench(const std::string& dtype, std::uint64_t seed = 3) : decoder(tiny_decoder(seed, dtype)) {
    options.learning_rate = 1e-2F;
    options.schedule = "cosine";
    options.weight_decay = 0.1F;
    trainer = Trainer::create(*decoder, options, 6).value();
  }
  config::Trainer options;
  std::unique_ptr<model::Decoder> decoder;
  std::unique_ptr<Trainer> trainer;
};

class Checkpoint : public testing::TestWithParam<std::string> {
 protected:
  // What the exporter copies beside the weights.
  std::string model_folder() {
    fs::create_directories(folder_ / "model");
    EXPECT_TRUE(put(folder_ / "model/config.json", "{\"model_type\": \"llama\"}").ok());
    EXPECT_TRUE(put(folder_ / "model/tokenizer.json", "{}").ok());
    return folder_ / "model";
  }
  std::string parent() const { return folder_ / "checkpoints"; }
  support::TemporaryFolder folder_;
};

TEST_P(Checkpoint, ARestoredRunGoesOnBitForBit) {
  Bench straight(GetParam());
  train(*straight.trainer, 3);
  const auto at_three = weights_of(*straight.decoder);
  const auto written = straight.trainer->save(parent(), model_folder(), R"({"cursor": 17})");
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(written.value(), parent() + "/step-000003");
  train(*straight.trainer, 6);

  Bench resumed(GetParam(), 99);
  const auto restored = resumed.trainer->restore(parent());
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_EQ(restored.value().version.value, 3U);
  EXPECT_EQ(restored.value().extra_json, R"({"cursor": 17})");
  EXPECT_EQ(weights_of(*resumed.decoder), at_three);
  train(*resumed.trainer, 6);
  EXPECT_EQ(weights_of(*resumed.decoder), weights_of(*straight.decoder));
}

INSTANTIATE_TEST_SUITE_P(Types, Checkpoint, testing::Values("float32", "bfloat16"),
                         [](const auto& parameter) { return parameter.param; });

TEST_F(Checkpoint, IsAFolderThatModelsAreLoadedFrom) {
  Bench bench("float32");
  const std::string written = bench.trainer->save(parent(), model_folder(), "").value();
  EXPECT_EQ(names(written),
            (std::vector<std::string>{"config.json", "manifest.json", "model.safetensors",
                                      "optimizer.safetensors", "state.json", "tokenizer.json"}));
}

TEST_F(Checkpoint, DamageMakesTheOneBeforeCount) {
  Bench bench("float32");
  for (std::uint64_t version = 1; version <= 3; ++version) {
    train(*bench.trainer, version);
    ASSERT_TRUE(bench.trainer->save(parent(), model_folder(), "").ok());
  }
  EXPECT_EQ(names(parent()), (std::vector<std::string>{"step-000002", "step-000003"}));
  for (const std::string file : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    const std::string path = parent() + "/step-000003/" + file;
    flip_byte(path, static_cast<std::streamoff>(fs::file_size(path) / 2));
    EXPECT_EQ(Bench("float32").trainer->restore(parent()).value().version.value, 2U) << file;
    flip_byte(path, static_cast<std::streamoff>(fs::file_size(path) / 2));
    EXPECT_EQ(Bench("float32").trainer->restore(parent()).value().version.value, 3U) << file;
  }
}

TEST_F(Checkpoint, UpToAVersionIsLoadedWithoutTouchingTheFolder) {
  Bench bench("float32");
  for (std::uint64_t version = 1; version <= 2; ++version) {
    train(*bench.trainer, version);
    ASSERT_TRUE(bench.trainer->save(parent(), model_folder(), "").ok());
  }
  fs::create_directories(parent() + "/tmp-3-999");   // its daemon is at work there
  EXPECT_EQ(Bench("float32").trainer->restore_up_to(parent(), PolicyVersion{1}).value().version.value, 1U);
  EXPECT_EQ(Bench("float32").trainer->restore_up_to(parent(), PolicyVersion{7}).value().version.value, 2U);
  EXPECT_EQ(Bench("float32").trainer->restore_up_to(parent(), PolicyVersion{0}).error().code, Code::not_found);
  EXPECT_TRUE(fs::exists(parent() + "/tmp-3-999"));
  EXPECT_TRUE(Bench("float32").trainer->restore(parent()).ok());
  EXPECT_FALSE(fs::exists(parent() + "/tmp-3-999"));
}

TEST_F(Checkpoint, NoneIsNotFound) {
  Bench bench("float32");
  const auto restored = bench.trainer->restore(parent());
  ASSERT_FALSE(restored.ok());
  EXPECT_EQ(restored.error().code, Code::not_found);
}

TEST_F(Checkpoint, WeightsThatAreNotFiniteAreRefused) {
  Bench bench("float32");
  bench.decoder->parameters()[0].tensor.detach().view({-1}).select(0, 0).fill_(std::nanf(""));
  EXPECT_FALSE(bench.trainer->save(parent(), model_folder(), "").ok());
  EXPECT_TRUE(checkpoint_folders(parent()).empty());
}
}  // namespace
}  // namespace corisco::trainer
