// Writing safetensors: one file, or several with their index. Streams the tensors' own memory.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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
  return files::write_all(fd, {static_cast<const char*>(data), bytes}) == bytes;
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
                              const ShardOf& shard_of) {
  if (shard_of.empty()) return write(folder + "/model.safetensors", tensors);
  std::map<std::string, std::vector<StoredTensor>> shards;
  std::map<std::string, std::string> files_of;
  std::size_t total_bytes = 0;
  for (const auto& tensor : tensors) {
    const auto found = shard_of.find(tensor.name);
    if (found == shard_of.end()) {
      return Error{Code::invalid_argument, cat("the checkpoint's index names no file for ", tensor.name)};
    }
    shards[found->second].push_back(tensor);
    files_of[tensor.name] = found->second;
    total_bytes += tensor.bytes;
  }
  for (const auto& [name, part] : shards) CORISCO_CHECK(write(folder + "/" + name, part));
  const nlohmann::ordered_json index{{"metadata", {{"total_size", total_bytes}}}, {"weight_map", files_of}};
  return files::write_atomically(folder + "/model.safetensors.index.json", json_text(index, 2) + "\n");
}
}  // namespace corisco::model::hf
