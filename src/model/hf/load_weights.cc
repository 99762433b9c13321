// Safetensors of a folder into the decoder's tensors, converted to their type.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "model/hf/safetensors.h"
#include "model/weights.h"

namespace corisco::model {
namespace {
constexpr std::size_t kListedMax = 20;  // of each kind of problem

at::ScalarType scalar_type(hf::ElementType type) {
  switch (type) {
    case hf::ElementType::float32:
      return at::kFloat;
    case hf::ElementType::float16:
      return at::kHalf;
    case hf::ElementType::bfloat16:
      return at::kBFloat16;
  }
  return at::kFloat;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const auto size : shape) sizes.push_back(cat(size));
  return cat("[", join(sizes, ", "), "]");
}

std::string listed(const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kListedMax)));
  if (names.size() > shown.size()) shown.push_back(cat("and ", names.size() - shown.size(), " more"));
  return cat("; ", names.size(), " ", what, ": ", join(shown, ", "));
}

// Tensors that older files hold and that are computed, or tied to the embedding, here; and those of parts that
// are no language model.
bool is_redundant(const std::string& name, const DecoderConfig& config) {
  if (!config.linear_layers.empty() && hf::is_kept_apart(name)) return true;
  return ends_with(name, ".rotary_emb.inv_freq") || (config.tie_embeddings && name == "lm_head.weight");
}

// The file's bytes may lie at any address: they are copied before they are read as numbers.
void fill(const at::Tensor& to, const hf::StoredTensor& from) {
  at::Tensor values = at::empty(from.shape, scalar_type(from.type));
  std::memcpy(values.mutable_data_ptr(), from.data, from.bytes);
  to.copy_(values);
}

using ByName = std::map<std::string, const hf::StoredTensor*>;

const hf::StoredTensor* find(const hf::Checkpoint& checkpoint, const std::string& name) {
  const auto found = std::ranges::find(checkpoint.tensors, name, &hf::StoredTensor::name);
  return found == checkpoint.tensors.end() ? nullptr : &*found;
}

// As transformers 5 has it: what is tied may lie in the files twice, as long as both are the same.
bool has_head_of_its_own(const hf::Checkpoint& checkpoint, const DecoderConfig& config) {
  const auto* head = find(checkpoint, "lm_head.weight");
  const auto* embedding = find(checkpoint, config.tensor_prefix + "embed_tokens.weight");
  if (head == nullptr || embedding == nullptr) return false;
  return head->type != embedding->type || head->shape != embedding->shape ||
         std::memcmp(head->data, embedding->data, head->bytes) != 0;
}

void read_hybrid_naming(const hf::Checkpoint& checkpoint, DecoderConfig& config) {
  for (const auto& tensor : checkpoint.tensors) {
    if (starts_with(tensor.name, "model.language_model.")) config.tensor_prefix = "model.language_model.";
    config.stacks_experts |= ends_with(tensor.name, ".mlp.experts.gate_up_proj") && !hf::is_kept_apart(tensor.name);
  }
}

Result<void> check(const std::string& folder, const DecoderConfig& config,
                   const std::vector<NamedTensor>& wanted, const ByName& found) {
  std::vector<std::string> missing, unexpected, misshapen;
  std::set<std::string> names;
  for (const auto& [name, tensor] : wanted) {
    names.insert(name);
    const auto entry = found.find(name);
    if (entry == found.end()) {
      missing.push_back(name);
    } else if (entry->second->shape != tensor.sizes().vec()) {
      misshapen.push_back(cat(name, " is ", shape_text(entry->second->shape), " instead of ",
                              shape_text(tensor.sizes().vec())));
    }
  }
  for (const auto& [name, tensor] : found) {
    if (!names.contains(name) && !is_redundant(name, config)) unexpected.push_back(name);
  }
  if (missing.empty() && unexpected.empty() && misshapen.empty()) return {};
  return Error{Code::invalid_argument,
               cat("the weights in ", folder, " do not fit its config.json", listed("missing", missing),
                   listed("unexpected", unexpected), listed("misshapen", misshapen))};
}
}  // namespace

Result<void> read_naming(const std::string& folder, DecoderConfig& config) {
  const bool is_hybrid = !config.linear_layers.empty();
  if (!is_hybrid && !config.tie_embeddings) return {};
  CORISCO_TRY(const hf::Checkpoint checkpoint, hf::open_checkpoint(folder));
  if (is_hybrid) read_hybrid_naming(checkpoint, config);
  if (config.tie_embeddings && has_head_of_its_own(checkpoint, config)) {
    log::warn(cat(folder, "/config.json has tie_word_embeddings: true, but lm_head.weight in its files is not the "
                  "embedding: it is taken as a head of its own"));
    config.tie_embeddings = false;
  }
  return {};
}

Result<void> load_weights(const std::string& folder, const DecoderConfig& config, DecoderWeights& weights) {
  CORISCO_TRY(const hf::Checkpoint checkpoint, hf::open_checkpoint(folder));
  ByName found;
  for (const auto& tensor : checkpoint.tensors) found[tensor.name] = &tensor;
  const auto wanted = hugging_face_views(config, weights);
  CORISCO_CHECK(check(folder, config, wanted, found));
  for (const auto& [name, tensor] : wanted) fill(tensor, *found.at(name));
  return {};
}
}  // namespace corisco::model
