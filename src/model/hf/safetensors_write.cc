// Writing safetensors: one file, or shards with their index. Streams the tensors' own memory.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "model/hf/safetensors.h"

namespace corisco::model::hf {
namespace {
const char* type_name(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return "F32";
    case ElementType::float16:
      return "F16";
    case ElementType::bfloat16:
      return "BF16";
  }
  return "F32";
}

std::string header_of(const std::vector<StoredTensor>& tensors) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  std::size_t offset = 0;
  for (const auto& tensor : tensors) {
    header[tensor.name] = {{"dtype", type_name(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes}}};
    offset += tensor.bytes;
  }
  std::string text = json_text(header);
  text.append((8 - text.size() % 8) % 8, ' ');  // readers may expect aligned data
  return text;
}

bool write_all(int fd, const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const auto wrote = ::write(fd, next, bytes);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    next += wrote;
    bytes -= static_cast<std::size_t>(wrote);
  }
  return true;
}

using Shards = std::vector<std::vector<StoredTensor>>;

Shards split_into_shards(const std::vector<StoredTensor>& tensors, std::size_t shard_bytes_max) {
  Shards shards(1);
  std::size_t bytes = 0;
  for (const auto& tensor : tensors) {
    if (!shards.back().empty() && bytes + tensor.bytes > shard_bytes_max) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(tensor);
    bytes += tensor.bytes;
  }
  return shards;
}

std::string shard_name(std::size_t index, std::size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", index + 1, count);
  return name;
}
}  // namespace

Result<void> write(const std::string& path, const std::vector<StoredTensor>& tensors) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const std::string header = header_of(tensors);
  const std::uint64_t header_bytes = header.size();
  bool wrote = fd >= 0 && write_all(fd, &header_bytes, sizeof header_bytes) &&
               write_all(fd, header.data(), header.size());
  for (const auto& tensor : tensors) wrote = wrote && write_all(fd, tensor.data, tensor.bytes);
  wrote = wrote && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!wrote) return Error{Code::unavailable, cat("could not write ", path, ": ", std::strerror(error))};
  return {};
}

Result<void> write_checkpoint(const std::string& folder, const std::vector<StoredTensor>& tensors,
                              std::size_t shard_bytes_max) {
  const Shards shards = split_into_shards(tensors, shard_bytes_max);
  if (shards.size() == 1) return write(folder + "/model.safetensors", shards.front());
  nlohmann::ordered_json index;
  std::size_t total_bytes = 0;
  for (const auto& tensor : tensors) total_bytes += tensor.bytes;
  index["metadata"] = {{"total_size", total_bytes}};
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(i, shards.size());
    CORISCO_CHECK(write(folder + "/" + name, shards[i]));
    for (const auto& tensor : shards[i]) index["weight_map"][tensor.name] = name;
  }
  return files::write_atomically(folder + "/model.safetensors.index.json", json_text(index, 2) + "\n");
}
}  // namespace corisco::model::hf
