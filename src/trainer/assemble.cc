#include "trainer/assemble.h"

#include <algorithm>
#include <cmath>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::trainer {
namespace {
void sort_batch(TrainBatch& batch) {
  std::ranges::stable_sort(batch.groups, {}, &TrainGroup::task_occurrence);
  for (auto& group : batch.groups) {
    std::ranges::stable_sort(group.rollouts, {}, &TrainRollout::sibling);
    for (auto& rollout : group.rollouts) std::ranges::stable_sort(rollout.rows, {}, &Sample::branch);
  }
}

void check_row(const Sample& row, PolicyVersion current) {
  const std::size_t length = row.token_ids.size();
  CORISCO_ASSERT(
      row.loss_mask.size() == length && row.sampled_logprobs.size() == length &&
          row.policy_versions.size() == length,
      cat(length, " ids, ", row.loss_mask.size(), " masks, ", row.sampled_logprobs.size(), " logprobs, ",
          row.policy_versions.size(), " versions in a row of rollout ", row.rollout));
  CORISCO_ASSERT(length < 2 ? row.routed_experts.empty() : row.routed_experts.size() % (length - 1) == 0,
                 cat(row.routed_experts.size(), " experts of ", length, " tokens in a row of rollout ", row.rollout));
  CORISCO_ASSERT(length == 0 || !row.loss_mask[0],
                 cat("the first token of a row of rollout ", row.rollout, " has no context to train from"));
  for (std::size_t t = 0; t < length; ++t) {
    if (!row.loss_mask[t]) continue;
    CORISCO_ASSERT(std::isfinite(row.sampled_logprobs[t]) && row.policy_versions[t] <= current,
                   cat("token ", t, " of rollout ", row.rollout, ": logprob ", row.sampled_logprobs[t],
                       ", version ", row.policy_versions[t], " at version ", current));
  }
}

std::size_t num_trained(const Sample& row) {
  return static_cast<std::size_t>(std::ranges::count_if(row.loss_mask, [](auto mask) { return mask != 0; }));
}

std::size_t num_trained(const TrainRollout& rollout) {
  std::size_t count = 0;
  for (const auto& row : rollout.rows) count += num_trained(row);
  return count;
}

// Counts, rewards and ages over every valid rollout, forwarded or not.
class Survey {
 public:
  explicit Survey(PolicyVersion current) : current_(current) {}

  void add(const TrainRollout& rollout) {
    rewards_.push_back(rollout.reward);
    report_.num_rows += static_cast<std::uint32_t>(rollout.rows.size());
    for (const auto& row : rollout.rows) {
      check_row(row, current_);
      for (std::size_t t = 0; t < row.loss_mask.size(); ++t)
        if (row.loss_mask[t]) add_age(static_cast<double>(current_.value - row.policy_versions[t].value));
    }
  }
  void add_group(bool is_constant) {
    ++report_.num_groups;
    if (is_constant) ++report_.num_constant_groups;
  }
  UpdateReport report() const {
    UpdateReport result = report_;
    result.num_rollouts = static_cast<std::uint32_t>(rewards_.size());
    if (result.num_trained_tokens)
      result.policy_age_mean = ages_ / static_cast<double>(result.num_trained_tokens);
    if (rewards_.empty()) return result;
    for (const double reward : rewards_) result.reward_mean += reward / static_cast<double>(rewards_.size());
    double squares = 0;
    for (const double reward : rewards_)
      squares += (reward - result.reward_mean) * (reward - result.reward_mean);
    if (rewards_.size() > 1)
      result.reward_std = std::sqrt(squares / static_cast<double>(rewards_.size() - 1));
    return result;
  }

 private:
  void add_age(double age) {
    ++report_.num_trained_tokens;
    ages_ += age;
    report_.policy_age_max = std::max(report_.policy_age_max, age);
  }

  PolicyVersion current_;
  UpdateReport report_;
  std::vector<double> rewards_;
  double ages_ = 0;
};

std::vector<double> advantages_of(const TrainGroup& group, AdvantageKind kind) {
  std::vector<double> rewards;
  std::vector<bool> is_valid;
  for (const auto& rollout : group.rollouts) {
    rewards.push_back(rollout.reward);
    is_valid.push_back(rollout.is_valid);
  }
  return group_advantages(rewards, is_valid, kind);
}

struct Share {
  double advantage = 0, weight = 0;
};

void add_row(Assembly& assembly, const Sample& sample, PolicyVersion current, Share share) {
  TrainRow row{.sample = &sample, .first_token = assembly.tokens.size()};
  for (std::size_t t = 0; t < sample.loss_mask.size(); ++t) {
    if (!sample.loss_mask[t]) continue;
    const std::uint64_t age = current.value - sample.policy_versions[t].value;
    assembly.tokens.push_back({.id = sample.token_ids[t],
                               .sampled_logprob = sample.sampled_logprobs[t],
                               .advantage = share.advantage,
                               .weight = share.weight,
                               .age = age});
    assembly.has_older_policy |= age > 0;
    row.forward_length = t;
  }
  row.num_tokens = assembly.tokens.size() - row.first_token;
  if (row.num_tokens) assembly.rows.push_back(row);
}
}  // namespace

Assembly assemble(TrainBatch batch, PolicyVersion current, AdvantageKind kind, bool needs_every_row) {
  Assembly assembly;
  assembly.batch = std::move(batch);
  sort_batch(assembly.batch);
  Survey survey(current);
  std::vector<std::vector<double>> advantages;
  for (const auto& group : assembly.batch.groups) {
    advantages.push_back(advantages_of(group, kind));
    survey.add_group(std::ranges::all_of(advantages.back(), [](double a) { return a == 0; }));
    for (const auto& rollout : group.rollouts)
      if (rollout.is_valid) survey.add(rollout);
  }
  assembly.report = survey.report();
  assembly.report.undelivered_share = assembly.batch.undelivered_share;
  const auto num_rollouts = static_cast<double>(assembly.report.num_rollouts);
  for (std::size_t g = 0; g < assembly.batch.groups.size(); ++g) {
    const auto& rollouts = assembly.batch.groups[g].rollouts;
    for (std::size_t i = 0; i < rollouts.size(); ++i) {
      const double advantage = advantages[g][i];
      if (!rollouts[i].is_valid || (advantage == 0 && !needs_every_row)) continue;
      const Share share{advantage, 1 / (num_rollouts * static_cast<double>(num_trained(rollouts[i])))};
      for (const auto& row : rollouts[i].rows) add_row(assembly, row, current, share);
    }
  }
  return assembly;
}
}  // namespace corisco::trainer
