// Named tensors in one safetensors file: the optimizer's state, and reading weights back.
// Whole-file, on the device thread; hosts one tensor at a time besides the live ones.
#pragma once
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/model/decoder.h"

namespace corisco::trainer {
// Writes the tensors of any device, float32, bfloat16 or float16; the file is synced.
Result<void> write_tensor_file(const std::string& path, const std::vector<model::NamedTensor>& tensors);

class TensorFile {
 public:
  static Result<TensorFile> open(const std::string& path);
  bool has(const std::string& name) const { return entries_.count(name) != 0; }
  // Overwrites the target in place; an error if name, type or shape differ. Bit-equal.
  Result<void> read_into(const std::string& name, at::Tensor target);

 private:
  struct Entry {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0, end = 0;  // in the file
  };
  Result<void> read_header();

  std::string path_;
  std::ifstream in_;
  std::map<std::string, Entry> entries_;
};
}  // namespace corisco::trainer
