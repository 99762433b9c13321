#include <gtest/gtest.h>

#include "corisco/config/load.h"
#include "support/page.h"

namespace corisco::config {
namespace {
TEST(ReferencePage, IsUpToDate) { support::expect_page("config.md", reference_page()); }

TEST(ReferencePage, HasDefaultsBoundsAndHelp) {
  const std::string page = reference_page();
  EXPECT_NE(page.find("\n## rollouts.harness\n"), std::string::npos);
  EXPECT_NE(
      page.find(
          "| `group_size` | a whole number | `8` | at least 1, at most 1024 | Sibling rollouts of a task. |"),
      std::string::npos);
  EXPECT_NE(page.find("| `device` | text | `\"cpu\"` | `cpu`, `cuda` | Where the model lives. |"),
            std::string::npos);
}
}  // namespace
}  // namespace corisco::config
