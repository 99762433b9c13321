// Reads the golden folders that scripts/golden/model.py wrote.
#pragma once
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "model/hf/safetensors.h"

namespace corisco::testing {
inline std::string golden_folder(const std::string& variant) {
  return std::string(CORISCO_SOURCE_FOLDER) + "/tests/model/golden/" + variant;
}

// Where the golden numbers are compared: scripts/gpu_check.sh sets cuda.
inline std::string device() {
  const char* named = std::getenv("CORISCO_TEST_DEVICE");
  return named == nullptr ? "cpu" : named;
}

// All tensors of a file of float32 tensors, by name.
inline std::map<std::string, std::vector<float>> read_floats(const std::string& path) {
  const auto file = model::hf::MappedFile::open(path);
  const auto tensors = model::hf::parse(file.value().data(), file.value().bytes(), path);
  std::map<std::string, std::vector<float>> result;
  for (const auto& tensor : tensors.value()) {
    auto& numbers = result[tensor.name];
    numbers.resize(tensor.bytes / sizeof(float));
    std::memcpy(numbers.data(), tensor.data, tensor.bytes);
  }
  return result;
}

inline std::vector<std::int64_t> to_ids(const std::vector<float>& numbers) {
  return {numbers.begin(), numbers.end()};
}
}  // namespace corisco::testing
