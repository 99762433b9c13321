// One reward per rollout of a group -> one advantage per rollout. Pure, double precision.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace corisco::trainer {
enum class AdvantageKind : std::uint8_t { grpo, grpo_no_std, rloo };
AdvantageKind advantage_kind(const std::string& name);

// rewards and is_valid: [R]. Invalid rollouts are out of the statistics and get 0.
// grpo: (R - mean) / (std + 1e-6), std with n - 1 (Shao et al. 2024, eq. 3, unbiased as in verl);
// grpo_no_std: R - mean (Liu et al. 2025, Dr. GRPO); rloo: (R - mean) n / (n - 1) (Ahmadian et al. 2024).
// All rewards equal, or fewer than two valid rollouts: exactly 0.
std::vector<double> group_advantages(std::span<const double> rewards, const std::vector<bool>& is_valid,
                                     AdvantageKind kind);
}  // namespace corisco::trainer
