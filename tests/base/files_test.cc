#include "corisco/base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "support/full_disk.h"
#include "support/temporary_folder.h"

namespace corisco {
namespace {
// Vectors of FIPS 180-2, appendix B, and of the empty text.
TEST(Files, Sha256KnownVectors) {
  EXPECT_EQ(files::sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(files::sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(files::sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Files, WritesReadsAndHashesTheSameBytes) {
  const support::TemporaryFolder folder;
  const std::string content("a\0b\n\xff", 5);
  ASSERT_TRUE(files::write_atomically(folder / "x", content).ok());
  EXPECT_EQ(files::read(folder / "x").value(), content);
  EXPECT_EQ(files::sha256_of_file(folder / "x").value(), files::sha256(content));
  ASSERT_TRUE(files::write_atomically(folder / "big", std::string(3000000, 'a')).ok());
  EXPECT_EQ(files::sha256_of_file(folder / "big").value(), files::sha256(std::string(3000000, 'a')));
}

TEST(Files, WritesAllAtAPlaceOrSaysHowMuchFitted) {
  const support::TemporaryFolder folder;
  const int descriptor = ::open((folder / "x").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(files::write_all(descriptor, "abcd"), 4U);
  EXPECT_EQ(files::write_all_at(descriptor, "yz", 1), 2U);
  EXPECT_EQ(files::write_all(descriptor, "ef"), 2U);   // goes on behind its own bytes
  {
    const support::FullDisk disk(8);
    EXPECT_EQ(files::write_all(descriptor, "ghij"), 2U);
    EXPECT_EQ(errno, EFBIG);
    EXPECT_EQ(files::write_all_at(descriptor, "1234", 7), 1U);
  }
  ::close(descriptor);
  EXPECT_EQ(files::read(folder / "x").value(), "ayzdefg1");
}

TEST(Files, ReplacesAWholeFileAndLeavesNothingAside) {
  const support::TemporaryFolder folder;
  ASSERT_TRUE(files::write_atomically(folder / "x", "a longer old content").ok());
  ASSERT_TRUE(files::write_atomically(folder / "x", "new", 0600).ok());
  EXPECT_EQ(files::read(folder / "x").value(), "new");
  struct stat status {};
  ASSERT_EQ(::stat((folder / "x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const std::filesystem::directory_iterator entries(folder.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST(Files, ErrorsNameTheFile) {
  const support::TemporaryFolder folder;
  const auto missing = files::read(folder / "none");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_NE(missing.error().message.find(folder / "none"), std::string::npos);
  EXPECT_FALSE(files::write_atomically(folder / "no/folder", "x").ok());
  EXPECT_FALSE(files::sync_folder(folder / "none").ok());
}
}  // namespace
}  // namespace corisco
