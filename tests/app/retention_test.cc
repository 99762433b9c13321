// When old content is removed, and back to which checkpoint a resume is kept possible.
#include "app/retention.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "support/temporary_folder.h"

namespace corisco::app {
namespace {
struct NotedRemovals final : samples::Journal {
  void append(samples::Record, std::function<void(Result<void>)>) override {}
  void when_kept(std::function<void(Result<void>)> done) override { done({}); }
  Result<void> flush() override { return {}; }
  void remove_old(samples::Retention retention, std::function<void(Result<samples::Removed>)> done) override {
    removals.push_back(retention);
    done(samples::Removed{});
  }
  std::uint64_t torn_bytes() const override { return 0; }
  std::vector<samples::Retention> removals;
};

TEST(Retention, TheLowestCheckpointCounts) {
  const support::TemporaryFolder folder;
  EXPECT_EQ(oldest_checkpoint(folder / "missing"), PolicyVersion{0});
  EXPECT_EQ(oldest_checkpoint(folder.path()), PolicyVersion{0});
  for (const char* name : {"step-000012", "step-000010-2", "step-000020", "tmp-3-77", "other"})
    std::filesystem::create_directory(folder / name);
  EXPECT_EQ(oldest_checkpoint(folder.path()), PolicyVersion{10});
}

TEST(Retention, AtTheStartAndOnceADay) {
  const support::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "step-000004");
  NotedRemovals journal;
  ManualClock clock;
  clock.advance(std::chrono::seconds(1));
  DailyRemoval removal(journal, folder.path(), 30, clock);
  removal.tick();
  ASSERT_EQ(journal.removals.size(), 1U);
  EXPECT_DOUBLE_EQ(journal.removals[0].before_unix_seconds, 1700000001.0 - 30 * 86400);
  EXPECT_EQ(journal.removals[0].oldest_checkpoint, PolicyVersion{4});
  clock.advance(std::chrono::hours(23));
  removal.tick();
  EXPECT_EQ(journal.removals.size(), 1U);
  clock.advance(std::chrono::hours(1));
  removal.tick();
  EXPECT_EQ(journal.removals.size(), 2U);
}

TEST(Retention, ZeroDaysIsNever) {
  NotedRemovals journal;
  ManualClock clock;
  clock.advance(std::chrono::hours(1));
  DailyRemoval(journal, "", 0, clock).tick();
  EXPECT_TRUE(journal.removals.empty());
}
}  // namespace
}  // namespace corisco::app
