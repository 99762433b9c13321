// The golden files of this folder, written by scripts/golden/text.py, and folders made for a test.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "support/temporary_folder.h"

namespace corisco::text::testing {
using Json = nlohmann::ordered_json;

inline std::string golden_path(const std::string& name) {
  return std::string(CORISCO_SOURCE_FOLDER) + "/tests/text/golden/" + name;
}

inline std::string golden_text(const std::string& name) {
  auto text = files::read(golden_path(name));
  EXPECT_TRUE(text.ok()) << (text.ok() ? "" : text.error().message);
  return text.ok() ? text.value() : "";
}

inline Json golden_json(const std::string& name) { return parse_ordered_json(golden_text(name)); }

// A model folder of this test alone, removed with it.
class ModelFolder {
 public:
  ModelFolder& with(const std::string& name, const std::string& content) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return *this;
  }
  const std::string& path() const { return folder_.path(); }

 private:
  support::TemporaryFolder folder_;
};
}  // namespace corisco::text::testing
