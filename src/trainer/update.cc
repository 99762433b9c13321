#include "trainer/update.h"

#include <algorithm>

namespace corisco::trainer {
namespace {
LossOptions loss_options(const config::Trainer& options, bool is_corrected) {
  return {.clip_low = options.clip_low,
          .clip_high = options.clip_high,
          .dual_clip = options.dual_clip,
          .correction_cap = options.correction_cap,
          .kl_coefficient = options.kl_coefficient,
          .is_corrected = is_corrected};
}

std::vector<Slice> plan_slices(std::size_t num_micro_batches, std::uint32_t epochs, bool measures_old) {
  std::vector<Slice> slices;
  if (num_micro_batches == 0) return slices;
  const auto add_pass = [&](Slice::Kind kind, bool is_first_epoch) {
    for (std::size_t i = 0; i < num_micro_batches; ++i) slices.push_back({kind, i, is_first_epoch});
  };
  if (measures_old) add_pass(Slice::Kind::measure_old, true);
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    if (epoch > 0) slices.push_back({.kind = Slice::Kind::step});
    add_pass(Slice::Kind::learn, epoch == 0);
  }
  return slices;
}

std::uint32_t num_without_routing(const Assembly& assembly) {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      assembly.rows, [](const TrainRow& row) { return row.sample->routed_experts.empty(); }));
}
}  // namespace

Update plan_update(TrainBatch batch, PolicyVersion current, const config::Trainer& options) {
  Update update;
  update.assembly =
      assemble(std::move(batch), current, advantage_kind(options.advantage), options.kl_coefficient > 0);
  update.micro_batches = pack(update.assembly, {.tokens_max = options.micro_batch_tokens,
                                                .share_prefixes = options.share_prefixes,
                                                .replays_routing = options.replay_routing});
  const bool measures_old = update.assembly.has_older_policy || options.epochs > 1;
  update.slices = plan_slices(update.micro_batches.size(), options.epochs, measures_old);
  update.loss_options = loss_options(options, measures_old);
  for (const auto& token : update.assembly.tokens) update.old_logprobs.push_back(token.sampled_logprob);
  if (options.kl_coefficient > 0) update.reference_logprobs.resize(update.assembly.tokens.size());
  auto& report = update.assembly.report;
  report.num_micro_batches = static_cast<std::uint32_t>(update.micro_batches.size());
  for (const auto& micro_batch : update.micro_batches) {
    const auto& experts = micro_batch.input.replayed_experts;
    report.num_forwarded_tokens += micro_batch.input.token_ids.size();
    update.num_replayed_experts += experts.size() - static_cast<std::size_t>(
                                                        std::ranges::count(experts, model::kRouterChooses));
  }
  if (options.replay_routing) report.num_unreplayed_rows = num_without_routing(update.assembly);
  return update;
}
}  // namespace corisco::trainer
