// A decoder as a Hugging Face folder that other programs load. Streams the weights' own memory;
// never renames or deletes: the caller makes the folder appear whole.
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "corisco/model/decoder.h"
#include "model/hf/safetensors.h"

namespace corisco::model {
namespace {
// Copied as they are where they exist; config.json is written anew.
constexpr const char* kCompanions[] = {"generation_config.json",
                                       "tokenizer.json",
                                       "tokenizer_config.json",
                                       "chat_template.jinja",
                                       "chat_template.json",
                                       "vocab.json",
                                       "merges.txt",
                                       "special_tokens_map.json",
                                       "preprocessor_config.json",
                                       "processor_config.json",
                                       "video_preprocessor_config.json",
                                       "added_tokens.json",
                                       "tokenizer.model",
                                       "LICENSE"};

Result<void> copy_companions(const std::string& from, const std::string& to) {
  for (const char* name : kCompanions) {
    const auto content = files::read(cat(from, "/", name));
    if (content.ok()) CORISCO_CHECK(files::write_atomically(cat(to, "/", name), content.value()));
    else if (content.error().code != Code::not_found) return content.error();
  }
  return {};
}

// Named templates, such as tool_use, lie in a folder of their own.
Result<void> copy_named_templates(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  const std::string folder = "/additional_chat_templates";
  std::error_code problem;
  if (!fs::is_directory(from + folder, problem)) return {};
  fs::create_directories(to + folder, problem);
  for (fs::directory_iterator it(from + folder, problem), end; !problem && it != end; it.increment(problem)) {
    const std::string name = folder + "/" + it->path().filename().string();
    CORISCO_TRY(const std::string content, files::read(from + name));
    CORISCO_CHECK(files::write_atomically(to + name, content));
  }
  if (problem) return Error{Code::unavailable, cat("could not copy ", from, folder, ": ", problem.message())};
  return {};
}

// The source's config with the type that the weights now have, under the key that it uses.
Result<void> write_config(const std::string& from, const std::string& to, const char* type) {
  CORISCO_TRY(const std::string text, files::read(from + "/config.json"));
  auto json = parse_ordered_json(text);
  if (!json.is_object()) return Error{Code::invalid_argument, cat(from, "/config.json is not a JSON object")};
  if (json.contains("torch_dtype") || !json.contains("dtype")) json["torch_dtype"] = type;
  if (json.contains("dtype")) json["dtype"] = type;
  if (json.contains("text_config") && json["text_config"].contains("dtype")) json["text_config"]["dtype"] = type;
  return files::write_atomically(to + "/config.json", json_text(json, 2) + "\n");
}

// Of a checkpoint whose language model is a part of it, the tensors of the other parts.
Result<void> append_kept_apart(const std::string& folder, hf::Checkpoint& source,
                               std::vector<hf::StoredTensor>& tensors) {
  CORISCO_TRY(source, hf::open_checkpoint(folder));
  for (const auto& tensor : source.tensors) {
    if (hf::is_kept_apart(tensor.name)) tensors.push_back(tensor);
  }
  return {};
}

hf::StoredTensor stored(const std::string& name, const at::Tensor& tensor) {
  return {
      .name = name,
      .type = tensor.scalar_type() == at::kBFloat16 ? hf::ElementType::bfloat16 : hf::ElementType::float32,
      .shape = tensor.sizes().vec(),
      .data = static_cast<const std::byte*>(tensor.const_data_ptr()),
      .bytes = tensor.nbytes()};
}
}  // namespace

Result<void> export_hugging_face(Decoder& decoder, const std::string& source_folder,
                                 const std::string& folder) {
  std::vector<at::Tensor> kept;  // copies of what does not lie on the CPU
  std::vector<hf::StoredTensor> tensors;
  for (const auto& [name, tensor] : decoder.hugging_face_tensors()) {
    kept.push_back(tensor.cpu().contiguous());
    tensors.push_back(stored(name, kept.back()));
  }
  hf::Checkpoint source;  // open until its bytes are written
  if (!decoder.config().linear_layers.empty()) CORISCO_CHECK(append_kept_apart(source_folder, source, tensors));
  const bool is_bfloat16 = kept.front().scalar_type() == at::kBFloat16;
  CORISCO_TRY(const hf::ShardOf shard_of, hf::read_index(source_folder));
  CORISCO_CHECK(hf::write_checkpoint(folder, tensors, shard_of));
  CORISCO_CHECK(write_config(source_folder, folder, is_bfloat16 ? "bfloat16" : "float32"));
  CORISCO_CHECK(copy_companions(source_folder, folder));
  CORISCO_CHECK(copy_named_templates(source_folder, folder));
  return files::sync_folder(folder);
}
}  // namespace corisco::model
