// Compares a generated reference page with the committed one.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "corisco/base/files.h"

namespace corisco::support {
// name: "config.md", of docs/. On a difference the new page is left in the build folder.
inline void expect_page(const std::string& name, const std::string& generated) {
  const std::string committed = std::string(CORISCO_SOURCE_FOLDER) + "/docs/" + name;
  const std::string fresh = std::string(CORISCO_BINARY_FOLDER) + "/" + name;
  const auto page = files::read(committed);
  if (page.ok() && page.value() == generated) return;
  ASSERT_TRUE(files::write_atomically(fresh, generated).ok());
  FAIL() << "docs/" << name << " is stale: cp " << fresh << " " << committed;
}
}  // namespace corisco::support
