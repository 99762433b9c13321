// The safetensors format: [u64 header length][JSON header][raw little-endian data].
// A reader that maps the file and a writer that streams it; no torch. Any thread, one at a time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "corisco/base/result.h"

namespace corisco::model::hf {
enum class ElementType : std::uint8_t { float32, float16, bfloat16 };
std::size_t element_bytes(ElementType type);

// A tensor's bytes as they lie in a file. data stays valid as long as its file is mapped and is
// aligned as the file happens to align it: copy before reading it as numbers.
struct StoredTensor {
  std::string name;
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// A read-only mapping of a whole file, released with the object.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();
  const std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  MappedFile(const std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  const std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// The file of each tensor, as a folder's model.safetensors.index.json has it; empty if there is none.
using ShardOf = std::map<std::string, std::string>;
Result<ShardOf> read_index(const std::string& folder);

// All weights of a folder: model.safetensors, or the files that model.safetensors.index.json names.
// Tensors are kept in the order in which their files hold them.
struct Checkpoint {
  std::vector<MappedFile> files;
  std::vector<StoredTensor> tensors;
};
Result<Checkpoint> open_checkpoint(const std::string& folder);

// Whether the tensor belongs to a part of a checkpoint that is not its language model: vision, and the heads that
// guess further tokens. Such parts are neither run nor trained; exports carry them as they are.
bool is_kept_apart(const std::string& name);

// Header and offsets of one file's bytes; path is for messages. Every offset is checked.
Result<std::vector<StoredTensor>> parse(const std::byte* data, std::size_t bytes, const std::string& path);

// Writes one file, in the given order, and syncs it.
Result<void> write(const std::string& path, const std::vector<StoredTensor>& tensors);
// Writes the files that shard_of names, each tensor into its own, and their index; model.safetensors if it is empty.
Result<void> write_checkpoint(const std::string& folder, const std::vector<StoredTensor>& tensors,
                              const ShardOf& shard_of);
}  // namespace corisco::model::hf
