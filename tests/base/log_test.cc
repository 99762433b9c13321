#include "corisco/base/log.h"

#include <gtest/gtest.h>

#include <string>

#include "corisco/base/files.h"
#include "support/temporary_folder.h"

namespace corisco::log {
namespace {
TEST(Log, KeepsLinesInItsFileUntilAnotherOneIsNamed) {
  const support::TemporaryFolder folder;
  const std::string path = folder.path() + "/corisco.log";
  set_file(path);
  warn("one");
  set_file("");
  warn("two");
  const auto text = files::read(path);
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text.value().find("one"), std::string::npos);
  EXPECT_EQ(text.value().find("two"), std::string::npos);
}

TEST(Log, AFileThatCannotBeOpenedEndsNothing) {
  EXPECT_NO_THROW(set_file("/dev/null/corisco.log"));
  EXPECT_NO_THROW(warn("on stderr alone"));
  set_file("");
}
}  // namespace
}  // namespace corisco::log
