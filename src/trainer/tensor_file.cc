#include "trainer/tensor_file.h"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "trainer/durable_file.h"

namespace corisco::trainer {
namespace {
using Json = nlohmann::json;
static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");
constexpr std::uint64_t kHeaderBytesMax = 100U << 20;

std::string dtype_name(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat: return "F32";
    case at::kBFloat16: return "BF16";
    case at::kHalf: return "F16";
    default: break;
  }
  CORISCO_ASSERT(false, cat("no file type for tensor type ", static_cast<int>(tensor.scalar_type())));
}

std::string header_of(const std::vector<model::NamedTensor>& tensors) {
  Json header = Json::object();
  std::size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t end = offset + tensor.nbytes();
    header[name] = {
        {"dtype", dtype_name(tensor)}, {"shape", tensor.sizes().vec()}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = json_text(header);
  text.append((8 - text.size() % 8) % 8, ' ');  // the first tensor starts at a multiple of 8 bytes
  return text;
}
}  // namespace

Result<void> write_tensor_file(const std::string& path, const std::vector<model::NamedTensor>& tensors) {
  CORISCO_TRY(DurableFile file, DurableFile::create(path));
  const std::string header = header_of(tensors);
  const std::uint64_t size = header.size();
  CORISCO_CHECK(file.write(&size, sizeof size));
  CORISCO_CHECK(file.write(header.data(), header.size()));
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor host = tensor.detach().to(at::kCPU).contiguous();
    CORISCO_CHECK(file.write(host.const_data_ptr(), host.nbytes()));
  }
  return file.sync();
}

Result<TensorFile> TensorFile::open(const std::string& path) {
  TensorFile file;
  file.path_ = path;
  file.in_.open(path, std::ios::binary);
  if (!file.in_) return Error{Code::not_found, cat("could not open ", path)};
  CORISCO_CHECK(file.read_header());
  return file;
}

Result<void> TensorFile::read_header() {
  std::uint64_t size = 0;
  in_.read(reinterpret_cast<char*>(&size), sizeof size);
  if (!in_ || size > kHeaderBytesMax)
    return Error{Code::invalid_argument, cat(path_, " has no safetensors header")};
  std::string text(size, '\0');
  in_.read(text.data(), static_cast<std::streamsize>(size));
  try {
    const Json header = parse_json(text);
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      const auto& offsets = entry.at("data_offsets");
      const std::uint64_t first = sizeof size + size;
      entries_[name] = {entry.at("dtype"), entry.at("shape").get<std::vector<std::int64_t>>(),
                        first + offsets.at(0).get<std::uint64_t>(),
                        first + offsets.at(1).get<std::uint64_t>()};
    }
  } catch (const Json::exception& problem) {
    return Error{Code::invalid_argument, cat("the header of ", path_, " is damaged: ", problem.what())};
  }
  return {};
}

Result<void> TensorFile::read_into(const std::string& name, at::Tensor target) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return Error{Code::invalid_argument, cat(path_, " has no tensor ", name)};
  const Entry& entry = found->second;
  if (entry.dtype != dtype_name(target) || entry.shape != target.sizes().vec() ||
      entry.end - entry.begin != target.nbytes())
    return Error{Code::invalid_argument,
                 cat(name, " in ", path_, " is of another type or shape than this model's")};
  const at::Tensor host = at::empty(target.sizes(), target.options().device(at::kCPU).requires_grad(false));
  in_.seekg(static_cast<std::streamoff>(entry.begin));
  in_.read(static_cast<char*>(host.mutable_data_ptr()), static_cast<std::streamsize>(host.nbytes()));
  if (!in_) return Error{Code::unavailable, cat("could not read ", name, " from ", path_)};
  const c10::NoGradGuard no_grad;
  target.copy_(host);
  return {};
}
}  // namespace corisco::trainer
