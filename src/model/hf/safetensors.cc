// Reading safetensors: the header is checked in full before any tensor is believed.
#include "model/hf/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::model::hf {
namespace {
using Json = nlohmann::json;

Error damaged(const std::string& path, const std::string& what) {
  return Error{Code::invalid_argument, cat(path, " is not a whole safetensors file: ", what)};
}

bool read_type(const std::string& word, ElementType& type) {
  if (word == "F32") type = ElementType::float32;
  else if (word == "F16") type = ElementType::float16;
  else if (word == "BF16") type = ElementType::bfloat16;
  else return false;
  return true;
}

// One entry of the header. body_bytes: what follows the header. offset receives the data's begin.
Result<StoredTensor> read_entry(const std::string& name, const Json& entry, std::size_t body_bytes,
                                std::size_t& offset, const std::string& path) {
  StoredTensor tensor;
  tensor.name = name;
  const auto type = entry.at("dtype").get<std::string>();
  if (!read_type(type, tensor.type)) {
    return Error{Code::invalid_argument,
                 cat(path, ": tensor ", name, " has type ", type, "; known: F32, F16, BF16")};
  }
  tensor.shape = entry.at("shape").get<std::vector<std::int64_t>>();
  std::size_t bytes = element_bytes(tensor.type);
  for (const auto size : tensor.shape) {
    if (size < 0 || (size > 0 && bytes > body_bytes / static_cast<std::size_t>(size))) {
      return damaged(path, cat("tensor ", name, " is larger than the file"));
    }
    bytes *= static_cast<std::size_t>(size);
  }
  const auto range = entry.at("data_offsets").get<std::vector<std::size_t>>();
  if (range.size() != 2 || range[0] > range[1] || range[1] > body_bytes || range[1] - range[0] != bytes) {
    return damaged(path, cat("tensor ", name, " has offsets that do not fit its shape or the file"));
  }
  tensor.bytes = bytes;
  offset = range[0];
  return tensor;
}
}  // namespace

std::size_t element_bytes(ElementType type) { return type == ElementType::float32 ? 4 : 2; }

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const Code code = errno == ENOENT ? Code::not_found : Code::unavailable;
    return Error{code, cat("could not open ", path, ": ", std::strerror(errno))};
  }
  struct stat status {};
  void* data = MAP_FAILED;
  if (::fstat(fd, &status) == 0 && status.st_size > 0) {
    data = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  }
  ::close(fd);
  if (data == MAP_FAILED) return damaged(path, "it is empty or cannot be mapped");
  return MappedFile(static_cast<const std::byte*>(data), static_cast<std::size_t>(status.st_size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), bytes_);
}

Result<std::vector<StoredTensor>> parse(const std::byte* data, std::size_t bytes, const std::string& path) {
  std::uint64_t header_bytes = 0;
  if (bytes < sizeof header_bytes) return damaged(path, cat("it has ", bytes, " bytes"));
  std::memcpy(&header_bytes, data, sizeof header_bytes);
  if (header_bytes > bytes - sizeof header_bytes) return damaged(path, "its header ends after the file");
  const char* text = reinterpret_cast<const char*>(data) + sizeof header_bytes;
  const Json header = parse_json({text, header_bytes});
  if (!header.is_object()) return damaged(path, "its header is not a JSON object");
  const std::byte* body = data + sizeof header_bytes + header_bytes;
  const std::size_t body_bytes = bytes - sizeof header_bytes - header_bytes;
  std::vector<StoredTensor> tensors;
  try {
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      std::size_t offset = 0;
      CORISCO_TRY(StoredTensor tensor, read_entry(name, entry, body_bytes, offset, path));
      tensor.data = body + offset;
      tensors.push_back(std::move(tensor));
    }
  } catch (const nlohmann::json::exception& error) {
    return damaged(path, error.what());
  }
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const auto& a, const auto& b) { return a.data < b.data; });
  return tensors;
}

bool is_kept_apart(const std::string& name) {
  return starts_with(name, "model.visual.") || starts_with(name, "mtp.");
}

Result<ShardOf> read_index(const std::string& folder) {
  const std::string path = folder + "/model.safetensors.index.json";
  const auto text = files::read(path);
  if (!text.ok()) {
    if (text.error().code == Code::not_found) return ShardOf{};
    return text.error();
  }
  const Json index = parse_json(text.value());
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    return Error{Code::invalid_argument, cat(path, " has no weight_map")};
  }
  ShardOf shard_of;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    if (!file.is_string()) return Error{Code::invalid_argument, cat(path, ": ", tensor, " names no file")};
    const auto name = file.get<std::string>();
    if (name.find('/') != std::string::npos) {
      return Error{Code::invalid_argument, cat(path, ": ", tensor, " lies outside the folder: ", name)};
    }
    shard_of[tensor] = name;
  }
  return shard_of;
}

Result<Checkpoint> open_checkpoint(const std::string& folder) {
  CORISCO_TRY(const ShardOf shard_of, read_index(folder));
  std::set<std::string> names;
  for (const auto& name : shard_of | std::views::values) names.insert(name);
  if (names.empty()) names.insert("model.safetensors");
  Checkpoint checkpoint;
  for (const auto& name : names) {
    const std::string path = folder + "/" + name;
    CORISCO_TRY(MappedFile file, MappedFile::open(path));
    CORISCO_TRY(auto tensors, parse(file.data(), file.bytes(), path));
    checkpoint.files.push_back(std::move(file));
    for (auto& tensor : tensors) checkpoint.tensors.push_back(std::move(tensor));
  }
  return checkpoint;
}
}  // namespace corisco::model::hf
