#include "trainer/checkpoint.h"

#include <ATen/ops/linalg_vector_norm.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "trainer/checkpoint_folder.h"
#include "trainer/tensor_file.h"

namespace corisco::trainer {
namespace {
namespace fs = std::filesystem;
using Json = nlohmann::json;
constexpr int kFormat = 1;
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kStateFile = "state.json";

struct OptionRecorder {
  Json& options;
  template <class T>
  void operator()(const char* name, const T& value, const config::Rule&) {
    options[name] = value;
  }
};

Result<void> check_finite(model::Decoder& decoder) {
  const c10::NoGradGuard no_grad;
  for (const auto& [name, tensor] : decoder.hugging_face_tensors())
    if (!std::isfinite(at::linalg_vector_norm(tensor).item<double>()))
      return Error{Code::internal,
                   cat("no checkpoint was written: ", name, " holds numbers that are not finite")};
  return {};
}

Result<void> check_room(model::Decoder& decoder, const Optimizer& optimizer, const std::string& parent) {
  std::uintmax_t needed = 0;
  for (const auto& tensor : decoder.hugging_face_tensors()) needed += tensor.tensor.nbytes();
  for (const auto& tensor : optimizer.state()) needed += tensor.tensor.nbytes();
  std::error_code problem;
  fs::create_directories(parent, problem);
  const auto space = fs::space(parent, problem);
  if (problem) return Error{Code::unavailable, cat("could not use ", parent, ": ", problem.message())};
  constexpr std::uintmax_t kMegabyte = 1U << 20;
  if (space.available < needed + needed / 20)
    return Error{Code::unavailable, cat("a checkpoint needs ", needed / kMegabyte, " MB and ", parent,
                                        " has ", space.available / kMegabyte, " MB free")};
  return {};
}

std::string to_text(const TrainerState& state) {
  const Json json = {{"format", kFormat},
                     {"policy_version", state.policy_version},
                     {"updates", state.num_updates},
                     {"optimizer_steps", state.num_optimizer_steps},
                     {"trainer", parse_json(state.options_json)},
                     {"extra_json", state.extra_json}};
  return json_text(json, 1) + "\n";
}

Result<TrainerState> from_text(const std::string& text, const std::string& folder) {
  try {
    const Json json = parse_json(text);
    if (json.at("format") != kFormat)
      return Error{Code::invalid_argument,
                   cat("the state of ", folder, " has format ", json_text(json.at("format")))};
    return TrainerState{json.at("policy_version"), json.at("updates"), json.at("optimizer_steps"),
                        json_text(json.at("trainer")), json.at("extra_json")};
  } catch (const Json::exception& exception) {
    return Error{Code::invalid_argument, cat("the state of ", folder, " is damaged: ", exception.what())};
  }
}

// model.safetensors, or the files of the model's folder by whatever names they have there.
std::vector<std::string> weight_files(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code problem;
  for (fs::directory_iterator it(folder, problem), end; !problem && it != end; it.increment(problem)) {
    const std::string name = it->path().filename().string();
    if (name != kOptimizerFile && ends_with(name, ".safetensors")) paths.push_back(it->path().string());
  }
  return paths;
}

Result<void> load_weights(model::Decoder& decoder, const std::string& folder) {
  std::vector<TensorFile> opened;
  for (const std::string& path : weight_files(folder)) {
    CORISCO_TRY(TensorFile file, TensorFile::open(path));
    opened.push_back(std::move(file));
  }
  for (const auto& [name, tensor] : decoder.hugging_face_tensors()) {
    TensorFile* holder = nullptr;
    for (TensorFile& file : opened)
      if (file.has(name)) holder = &file;
    if (!holder) return Error{Code::invalid_argument, cat("the weights in ", folder, " lack ", name)};
    CORISCO_CHECK(holder->read_into(name, tensor));
  }
  return {};
}

Result<TrainerState> load_from(model::Decoder& decoder, Optimizer& optimizer, const std::string& folder) {
  CORISCO_TRY(const std::string text, files::read(folder + "/" + kStateFile));
  CORISCO_TRY(TrainerState state, from_text(text, folder));
  CORISCO_TRY(TensorFile file, TensorFile::open(folder + "/" + kOptimizerFile));
  CORISCO_CHECK(load_weights(decoder, folder));
  for (const auto& [name, tensor] : optimizer.state()) CORISCO_CHECK(file.read_into(name, tensor));
  optimizer.set_restored(state.num_optimizer_steps);
  decoder.refresh_derived();
  return state;
}
}  // namespace

std::string options_json(const config::Trainer& options) {
  config::Trainer copy = options;
  Json json = Json::object();
  OptionRecorder recorder{json};
  copy.describe(recorder);
  return json_text(json);
}

Result<std::string> save_checkpoint(model::Decoder& decoder, const Optimizer& optimizer,
                                    const TrainerState& state, const std::string& parent,
                                    const std::string& model_folder) {
  remove_unfinished_checkpoints(parent);
  CORISCO_CHECK(check_finite(decoder));
  CORISCO_CHECK(check_room(decoder, optimizer, parent));
  return write_checkpoint_folder(
      parent, state.policy_version, [&](const std::string& folder) -> Result<void> {
        CORISCO_CHECK(model::export_hugging_face(decoder, model_folder, folder));
        CORISCO_CHECK(write_tensor_file(folder + "/" + kOptimizerFile, optimizer.state()));
        return files::write_atomically(folder + "/" + kStateFile, to_text(state));
      });
}

Result<LoadedCheckpoint> load_newest_checkpoint(model::Decoder& decoder, Optimizer& optimizer,
                                                const std::string& parent, std::uint64_t version_max) {
  for (const std::string& folder : checkpoint_folders(parent, version_max)) {
    const auto whole = verify_checkpoint_folder(folder);
    if (!whole.ok()) {
      log::warn(cat("skipping checkpoint ", folder, ": ", whole.error().message));
      continue;
    }
    CORISCO_TRY(TrainerState state, load_from(decoder, optimizer, folder));
    return LoadedCheckpoint{std::move(state), folder};
  }
  return Error{Code::not_found, cat("there is no whole checkpoint in ", parent)};
}
}  // namespace corisco::trainer
