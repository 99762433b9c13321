// A run's secret is made once and read by every later life.
#include "app/call_id_secret.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "corisco/base/files.h"
#include "support/temporary_folder.h"

namespace corisco::app {
namespace {
TEST(CallIdSecret, IsMadeOncePerRunAndItsOwnersAlone) {
  const support::TemporaryFolder folder, other;
  const auto made = call_id_secret(folder.path());
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made.value().size(), 64U);
  const auto mode = std::filesystem::status(folder / "call_ids.secret").permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(call_id_secret(folder.path()).value(), made.value());
  EXPECT_NE(call_id_secret(other.path()).value(), made.value());
}

TEST(CallIdSecret, ADamagedOneIsRefusedWithoutBeingShown) {
  const support::TemporaryFolder folder;
  ASSERT_TRUE(files::write_atomically(folder / "call_ids.secret", "half-a-secret").ok());
  const auto refused = call_id_secret(folder.path());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_EQ(refused.error().message.find("half-a-secret"), std::string::npos);
  EXPECT_NE(refused.error().message.find("call_ids.secret"), std::string::npos);
}
}  // namespace
}  // namespace corisco::app
