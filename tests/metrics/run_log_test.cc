// metrics.jsonl and event files, read back by decoders that share no code with the writers.
#include "corisco/base/json.h"
#include "corisco/metrics/run_log.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "metrics/appended_file.h"
#include "metrics/event_file.h"
#include "support/full_disk.h"
#include "support/temporary_folder.h"

namespace corisco::metrics {
namespace {
using Json = nlohmann::json;

std::vector<Json> lines_of(const std::string& path) {
  std::vector<Json> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(parse_json(line));
  return lines;
}

std::vector<std::string> event_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(RunLog, WritesALineOfJsonPerCall) {
  const support::TemporaryFolder folder;
  auto log = RunLog::open(folder.path(), false);
  ASSERT_TRUE(log.ok()) << log.error().message;
  log.value()->write("update", 3,
                     {{"loss", 0.5}, {"groups", std::int64_t{8}}, {"mode", std::string("sync")}});
  log.value()->write("run", 4,
                     {{"kl", std::numeric_limits<double>::quiet_NaN()}, {"note", std::string("\xff")}});

  const auto lines = lines_of(folder / "metrics.jsonl");  // flushed: the log is still open
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["format"], 1);
  EXPECT_EQ(lines[1]["kind"], "update");
  EXPECT_EQ(lines[1]["step"], 3);
  EXPECT_EQ(lines[1]["loss"], 0.5);
  EXPECT_EQ(lines[1]["groups"], 8);
  EXPECT_EQ(lines[1]["mode"], "sync");
  EXPECT_GT(lines[1]["unix_seconds"], 1.6e9);
  EXPECT_TRUE(lines[2]["kl"].is_null());
  EXPECT_FALSE(std::filesystem::exists(folder / "tensorboard"));
}

TEST(RunLog, GoesOnAndCutsATornLine) {
  const support::TemporaryFolder folder;
  RunLog::open(folder.path(), false).value()->write("update", 1, {});
  { std::ofstream(folder / "metrics.jsonl", std::ios::app) << "{\"kind\":\"upda"; }
  RunLog::open(folder.path(), false).value()->write("update", 2, {});
  const auto lines = lines_of(folder / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 3U);  // one head alone
  EXPECT_EQ(lines[1]["step"], 1);
  EXPECT_EQ(lines[2]["step"], 2);
}

TEST(RunLog, WhatAFullDiskDidNotTakeIsWrittenWithTheNextLine) {
  const support::TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  auto log = RunLog::open(folder.path(), true).value();
  log->write("update", 1, {{"loss", 1.0}});
  const auto size = std::filesystem::file_size(path);
  {
    const support::FullDisk full(size + 10);   // so that a part of the next line fits
    log->write("update", 2, {{"loss", 2.0}});
    log->write("update", 3, {{"loss", 3.0}});
    EXPECT_EQ(std::filesystem::file_size(path), size);
  }
  log->write("update", 4, {{"loss", 4.0}});
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 5U);
  for (std::size_t i = 1; i < lines.size(); ++i) EXPECT_EQ(lines[i]["step"], i);
}

TEST(AppendedFile, GivesUpWhatWaitsIfItIsTooMuch) {
  const support::TemporaryFolder folder;
  auto file = AppendedFile::open(folder / "file").value();
  ASSERT_TRUE(file.append("begin ").ok());
  {
    const support::FullDisk full(file.size());
    EXPECT_FALSE(file.append(std::string(900'000, 'a')).ok());
    EXPECT_FALSE(file.append(std::string(900'000, 'b')).ok());
  }
  EXPECT_TRUE(file.append(" end").ok());
  EXPECT_EQ(corisco::files::read(folder / "file").value(), "begin " + std::string(900'000, 'b') + " end");
}

TEST(RunLog, AFolderThatIsNotThereIsAnError) {
  const auto log = RunLog::open("/nowhere/at/all", false);
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.error().message.find("/nowhere/at/all/metrics.jsonl"), std::string::npos);
}

TEST(RunLog, EachOpeningHasAnEventFileOfItsOwn) {
  const support::TemporaryFolder folder;
  for (int i = 0; i < 3; ++i) RunLog::open(folder.path(), true).value()->write("update", 1, {{"loss", 1.0}});
  EXPECT_EQ(event_files(folder / "tensorboard").size(), 3U);
}

// The bytes of one record, written out by hand from the format's description. The checksums are
// those of a bitwise CRC-32C in Python, rotated right by 15 plus 0xa282ead8.
TEST(EventFile, RecordBytes) {
  const std::string payload = scalar_event(1.5, 300, {{"t", 0.25F}});
  const unsigned char expected_payload[] = {
      0x09, 0,    0,    0,    0,    0, 0, 0xf8, 0x3f,  // field 1, fixed64: 1.5
      0x10, 0xac, 0x02,                                // field 2, varint: 300
      0x2a, 0x0a,                                      // field 5, 10 bytes: a summary
      0x0a, 0x08,                                      //   field 1, 8 bytes: a value
      0x0a, 0x01, 't',                                 //     field 1: the tag
      0x15, 0,    0,    0x80, 0x3e,                    //     field 2, fixed32: 0.25
  };
  ASSERT_EQ(payload, std::string(reinterpret_cast<const char*>(expected_payload), sizeof(expected_payload)));
  const std::string record = event_record(payload);
  ASSERT_EQ(record.size(), 8 + 4 + payload.size() + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, payload.size()), payload);
  std::uint32_t length_sum = 0, payload_sum = 0;
  std::memcpy(&length_sum, record.data() + 8, 4);
  std::memcpy(&payload_sum, record.data() + record.size() - 4, 4);
  EXPECT_EQ(length_sum, 0x224b7fa3U);
  EXPECT_EQ(payload_sum, 0x5a351f26U);
}

TEST(EventFile, BeginsWithItsVersion) {
  EXPECT_EQ(version_event(0), std::string("\x09\0\0\0\0\0\0\0\0\x1a\x0d", 11) + "brain.Event:2");
}

TEST(EventFile, HoldsFiniteNumbersAlone) {
  const support::TemporaryFolder folder;
  RunLog::open(folder.path(), true)
      .value()
      ->write("update", 7,
              {{"loss", std::numeric_limits<double>::infinity()},
               {"mode", std::string("sync")},
               {"groups", std::int64_t{8}}});
  const auto files = event_files(folder / "tensorboard");
  ASSERT_EQ(files.size(), 1U);
  const std::string bytes = corisco::files::read(files[0]).value();
  EXPECT_NE(bytes.find("update/groups"), std::string::npos);
  EXPECT_EQ(bytes.find("update/loss"), std::string::npos);
  EXPECT_EQ(bytes.find("update/mode"), std::string::npos);
}
}  // namespace
}  // namespace corisco::metrics
