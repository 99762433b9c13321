#include "corisco/coordinator/window.h"

#include <gtest/gtest.h>

#include <random>

namespace corisco::coordinator {
namespace {
using Ids = std::vector<GroupId>;

TEST(Window, SynchronousTrainingWaitsForAllGroups) {
  Window window({.groups_per_update = 2, .groups_active_max = 2, .policy_age_max = 0});
  window.open(GroupId{1}, 0, PolicyVersion{0});
  window.open(GroupId{2}, 1, PolicyVersion{0});
  EXPECT_EQ(window.num_free_slots(), 0U);
  window.complete(GroupId{2});
  EXPECT_FALSE(window.choose(PolicyVersion{0}));
  window.complete(GroupId{1});
  EXPECT_EQ(window.choose(PolicyVersion{0}), (Ids{GroupId{1}, GroupId{2}}));
  window.release({GroupId{1}, GroupId{2}});
  EXPECT_EQ(window.num_free_slots(), 2U);
}

TEST(Window, AsynchronousTrainingTakesTheFirstCompleteGroupsInTaskOrder) {
  Window window({.groups_per_update = 2, .groups_active_max = 4, .policy_age_max = 1});
  for (std::uint64_t i = 0; i < 4; ++i) window.open(GroupId{i + 1}, i, PolicyVersion{0});
  window.complete(GroupId{4});
  window.complete(GroupId{2});
  EXPECT_EQ(window.choose(PolicyVersion{0}), (Ids{GroupId{2}, GroupId{4}}));
}

// Groups 1 and 2, opened at version 0, must be trained at version 1 at the latest: at version 1 the
// update waits for them although two younger groups are complete.
TEST(Window, AGroupAboutToPassTheAgeBoundMakesTheUpdateWait) {
  Window window({.groups_per_update = 2, .groups_active_max = 4, .policy_age_max = 1});
  for (std::uint64_t i = 0; i < 4; ++i) window.open(GroupId{i + 1}, i, PolicyVersion{0});
  window.complete(GroupId{3});
  window.complete(GroupId{4});
  ASSERT_EQ(window.choose(PolicyVersion{0}), (Ids{GroupId{3}, GroupId{4}}));
  window.release({GroupId{3}, GroupId{4}});
  window.open(GroupId{5}, 4, PolicyVersion{1});
  window.open(GroupId{6}, 5, PolicyVersion{1});
  window.complete(GroupId{5});
  window.complete(GroupId{6});
  EXPECT_FALSE(window.choose(PolicyVersion{1}));
  window.complete(GroupId{2});
  EXPECT_FALSE(window.choose(PolicyVersion{1}));
  window.complete(GroupId{1});
  EXPECT_EQ(window.choose(PolicyVersion{1}), (Ids{GroupId{1}, GroupId{2}}));
}

// Whatever the order in which groups complete: every group is trained once, none past its age, and
// the wait always ends once all open groups are complete.
TEST(Window, RandomRunsKeepTheBoundAndNeverBlock) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t per_update = 1 + random() % 4, age_max = random() % 4;
    const std::uint32_t active_max = per_update + random() % (age_max * per_update + 1);
    Window window({per_update, active_max, age_max});
    std::vector<std::uint64_t> opened_at{0};   // by group id
    Ids running;
    std::uint64_t trained = 0;
    for (std::uint64_t version = 0; version < 20;) {
      while (window.num_free_slots() > 0) {
        // Opened now, or by an earlier life of the run at a version that still fits.
        const auto earliest = window.earliest_that_fits(PolicyVersion{version}).value;
        ASSERT_LE(earliest, version);
        const GroupId id{opened_at.size()};
        opened_at.push_back(earliest + random() % (version - earliest + 1));
        window.open(id, id.value - 1, PolicyVersion{opened_at.back()});
        running.push_back(id);
      }
      const auto chosen = window.choose(PolicyVersion{version});
      if (!chosen) {
        ASSERT_FALSE(running.empty()) << "blocked with every group complete, seed " << seed;
        const auto next = random() % running.size();
        window.complete(running[next]);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(next));
        continue;
      }
      ASSERT_EQ(chosen->size(), per_update);
      for (const auto id : *chosen) ASSERT_LE(version - opened_at[id.value], age_max) << "seed " << seed;
      window.release(*chosen);
      trained += chosen->size();
      ++version;
    }
    EXPECT_EQ(trained, 20U * per_update);
  }
}
}  // namespace
}  // namespace corisco::coordinator
