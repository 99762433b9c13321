// The trainer of one device: plans an update, runs it slice by slice, publishes it.
#include "corisco/trainer/trainer.h"

#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <cmath>
#include <optional>

#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "corisco/model/decoder.h"
#include "trainer/checkpoint.h"
#include "trainer/checkpoint_folder.h"
#include "trainer/forward.h"
#include "trainer/loss.h"
#include "trainer/optimizer.h"
#include "trainer/schedule.h"
#include "trainer/update.h"
#include "trainer/weights_checksum.h"

namespace corisco::trainer {
namespace {
OptimizerOptions optimizer_options(const config::Trainer& options) {
  return {.beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .weight_decay = options.weight_decay,
          .grad_norm_max = options.grad_norm_max};
}

// Above all rounding, in bfloat16 too: what sampled is another policy than what is trained.
constexpr double kMismatchMeanMax = 0.05;

void warn_of_mismatch(const UpdateReport& report) {
  if (report.mismatch_mean <= kMismatchMeanMax) return;
  log::warn(cat("log-probabilities of the trainer and the engine differ by ", report.mismatch_mean,
                " on average under the same weights, which is above ", kMismatchMeanMax,
                ": the update's ratios are not those of its policy"));
}

class DeviceTrainer final : public Trainer {
 public:
  DeviceTrainer(model::Decoder& decoder, const config::Trainer& options, std::uint32_t num_updates)
      : decoder_(decoder),
        options_(options),
        schedule_{options.schedule, options.learning_rate, options.warmup_updates, num_updates},
        optimizer_(decoder.parameters(), optimizer_options(options)) {
    if (options.kl_coefficient > 0) reference_ = decoder.frozen_copy();
  }

  void begin(TrainBatch batch, PolicyVersion current) override;
  bool advance() override;
  double progress() const override;
  UpdateReport publish() override;
  void discard() override;
  PolicyVersion version() const override { return version_; }
  Result<std::string> save(const std::string& folder, const std::string& model_folder,
                           const std::string& extra_json) override;
  Result<Restored> restore(const std::string& folder) override;
  void set_num_updates(std::uint64_t num_updates) override { num_updates_ = num_updates; }
  Result<Restored> restore_up_to(const std::string& folder, PolicyVersion version) override;

 private:
  void run(const Slice& slice);
  void measure_old(const MicroBatch& batch);
  void measure_reference(const MicroBatch& batch);
  void learn(const MicroBatch& batch, bool is_first_epoch);
  std::vector<double> weigh(const MicroBatch& batch, const std::vector<double>& logprobs);
  void compare(const MicroBatch& batch, const std::vector<double>& logprobs);
  bool step(double& norm);
  double rate() const { return learning_rate(schedule_, num_updates_); }
  void end_update();

  model::Decoder& decoder_;
  const config::Trainer options_;
  const Schedule schedule_;
  Optimizer optimizer_;
  std::unique_ptr<model::Decoder> reference_;  // the initial weights; null without the KL term
  std::optional<Update> update_;
  PolicyVersion version_;
  std::uint64_t num_updates_ = 0;
};

void DeviceTrainer::begin(TrainBatch batch, PolicyVersion current) {
  CORISCO_ASSERT(!update_, cat("an update is in progress at version ", version_));
  CORISCO_ASSERT(current == version_, cat("batch for version ", current, ", weights of version ", version_));
  update_ = plan_update(std::move(batch), current, options_);
}

bool DeviceTrainer::advance() {
  CORISCO_ASSERT(update_, cat("no update in progress at version ", version_));
  if (update_->is_done()) return false;
  run(update_->slices[update_->next_slice++]);
  return !update_->is_done();
}

double DeviceTrainer::progress() const {
  if (!update_) return 0;
  if (update_->is_done()) return 1;
  return static_cast<double>(update_->next_slice) / static_cast<double>(update_->slices.size());
}

void DeviceTrainer::run(const Slice& slice) {
  // Tensors that autograd needs must not be made under inference mode, wherever the caller is.
  const c10::InferenceMode no_inference_mode(false);
  switch (slice.kind) {
    case Slice::Kind::measure_old: return measure_old(update_->micro_batches[slice.micro_batch]);
    case Slice::Kind::learn: return learn(update_->micro_batches[slice.micro_batch], slice.is_first_epoch);
    case Slice::Kind::step: break;
  }
  if (!optimizer_.remembers()) optimizer_.remember();
  double norm = 0;
  update_->is_spoiled = !step(norm);
  optimizer_.clear_gradients();
}

void DeviceTrainer::measure_old(const MicroBatch& batch) {
  const c10::NoGradGuard no_grad;
  const auto logprobs = to_doubles(trained_logprobs(decoder_, batch, &update_->num_rerouted));
  for (std::size_t i = 0; i < logprobs.size(); ++i) update_->old_logprobs[batch.tokens[i]] = logprobs[i];
  compare(batch, logprobs);
}

// The reference is a model of its own, whose router chooses for it.
void DeviceTrainer::measure_reference(const MicroBatch& batch) {
  const c10::NoGradGuard no_grad;
  MicroBatch own = batch;
  own.input.replayed_experts.clear();
  const auto logprobs = to_doubles(trained_logprobs(*reference_, own));
  for (std::size_t i = 0; i < logprobs.size(); ++i)
    update_->reference_logprobs[batch.tokens[i]] = logprobs[i];
}

void DeviceTrainer::learn(const MicroBatch& batch, bool is_first_epoch) {
  if (reference_ && is_first_epoch) measure_reference(batch);
  const c10::AutoGradMode with_grad(true);
  const bool compares = is_first_epoch && !update_->loss_options.is_corrected;
  const at::Tensor logprobs = trained_logprobs(decoder_, batch, compares ? &update_->num_rerouted : nullptr);
  const auto values = to_doubles(logprobs);
  if (compares) compare(batch, values);
  logprobs.backward(to_tensor(weigh(batch, values), logprobs));
  optimizer_.collect();
}

// d L / d logprob of each trained token, its weight included.
std::vector<double> DeviceTrainer::weigh(const MicroBatch& batch, const std::vector<double>& logprobs) {
  std::vector<double> gradients;
  gradients.reserve(logprobs.size());
  for (std::size_t i = 0; i < logprobs.size(); ++i) {
    const std::size_t index = batch.tokens[i];
    const TrainedToken& token = update_->assembly.tokens[index];
    const TokenInput input{.logprob = logprobs[i],
                           .old_logprob = update_->old_logprobs[index],
                           .sampled_logprob = token.sampled_logprob,
                           .reference_logprob = reference_ ? update_->reference_logprobs[index] : 0,
                           .advantage = token.advantage};
    const TokenLoss loss = token_loss(input, update_->loss_options);
    update_->tally.add(token, logprobs[i], loss);
    gradients.push_back(token.weight * loss.gradient);
  }
  return gradients;
}

void DeviceTrainer::compare(const MicroBatch& batch, const std::vector<double>& logprobs) {
  for (std::size_t i = 0; i < logprobs.size(); ++i)
    update_->tally.add_mismatch(update_->assembly.tokens[batch.tokens[i]], logprobs[i]);
}

// Every check comes before the first write. False: the weights are as they were.
bool DeviceTrainer::step(double& norm) {
  norm = optimizer_.grad_norm();
  if (!std::isfinite(norm)) {
    log::warn(cat("update at version ", version_, " skipped: its gradient is not finite"));
    return false;
  }
  optimizer_.step(rate(), norm);
  decoder_.refresh_derived();
  return true;
}

UpdateReport DeviceTrainer::publish() {
  CORISCO_ASSERT(update_ && update_->is_done(),
                 cat("publish before the update's end, at version ", version_));
  UpdateReport report = update_->assembly.report;
  update_->tally.fill(report);
  warn_of_mismatch(report);
  report.loss /= options_.epochs;
  if (update_->num_replayed_experts > 0)
    report.rerouted_share =
        static_cast<double>(update_->num_rerouted) / static_cast<double>(update_->num_replayed_experts);
  report.learning_rate = rate();
  report.was_skipped = update_->slices.empty() || update_->is_spoiled || !step(report.grad_norm);
  if (report.was_skipped && optimizer_.remembers()) {
    optimizer_.roll_back();
    decoder_.refresh_derived();
  }
  if (!report.was_skipped) {
    ++version_.value;
    report.weights_checksum = weights_checksum(decoder_.parameters());
  }
  report.policy_version = version_;
  ++num_updates_;
  end_update();
  return report;
}

void DeviceTrainer::discard() {
  if (!update_) return;
  if (optimizer_.remembers()) {
    optimizer_.roll_back();
    decoder_.refresh_derived();
  }
  end_update();
}

void DeviceTrainer::end_update() {
  optimizer_.forget();
  optimizer_.clear_gradients();
  update_.reset();
}

Result<std::string> DeviceTrainer::save(const std::string& folder, const std::string& model_folder,
                                        const std::string& extra_json) {
  CORISCO_ASSERT(!update_, cat("a checkpoint within the update of version ", version_));
  const TrainerState state{version_.value, num_updates_, optimizer_.num_steps(), options_json(options_),
                           extra_json};
  CORISCO_TRY(std::string written, save_checkpoint(decoder_, optimizer_, state, folder, model_folder));
  CORISCO_CHECK(verify_checkpoint_folder(written));
  prune_checkpoints(folder, written, options_.checkpoints_kept);
  return written;
}

Result<Trainer::Restored> DeviceTrainer::restore(const std::string& folder) {
  CORISCO_ASSERT(!update_, cat("a restore within the update of version ", version_));
  remove_unfinished_checkpoints(folder);
  return restore_up_to(folder, PolicyVersion{UINT64_MAX});
}

Result<Trainer::Restored> DeviceTrainer::restore_up_to(const std::string& folder, PolicyVersion version) {
  CORISCO_ASSERT(!update_, cat("a restore within the update of version ", version_));
  CORISCO_TRY(LoadedCheckpoint loaded, load_newest_checkpoint(decoder_, optimizer_, folder, version.value));
  if (loaded.state.options_json != options_json(options_))
    log::warn(cat("the trainer's options changed since ", loaded.folder, " was written: then ",
                  loaded.state.options_json, ", now ", options_json(options_)));
  version_.value = loaded.state.policy_version;
  num_updates_ = loaded.state.num_updates;
  return Restored{version_, num_updates_, loaded.folder, loaded.state.extra_json};
}
}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::create(model::Decoder& decoder, const config::Trainer& options,
                                                 std::uint32_t num_updates) {
  const bool has_parameters = !decoder.parameters().empty();
  if (!has_parameters)
    return Error{Code::invalid_argument, "the model has no parameters that can be trained"};
  return std::unique_ptr<Trainer>(std::make_unique<DeviceTrainer>(decoder, options, num_updates));
}
}  // namespace corisco::trainer
