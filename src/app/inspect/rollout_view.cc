#include "app/inspect/rollout_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::app {
const UpdateSummary* RolloutView::update() const {
  const auto index = rollout().update;
  return index ? &history.updates[*index] : nullptr;
}

std::optional<double> RolloutView::coefficient() const {
  const auto* consumed = update();
  const auto num_tokens = rollout().learnable.tokens;
  if (consumed == nullptr || consumed->num_rollouts == 0 || num_tokens == 0) return std::nullopt;
  return 1 / (static_cast<double>(consumed->num_rollouts) * static_cast<double>(num_tokens));
}

std::vector<std::optional<double>> RolloutView::group_rewards() const {
  std::vector<std::optional<double>> rewards;
  const auto group = history.groups.find(rollout().spec.group);
  if (group == history.groups.end()) return rewards;
  for (const auto& [sibling, rollout_id] : group->second.rollouts) {
    const auto& one = history.rollouts.at(rollout_id);
    rewards.push_back(one.is_valid ? one.reward : std::nullopt);
  }
  return rewards;
}

const Call* RolloutView::find(CallId call) const {
  const auto found = std::find_if(history.kept_calls.begin(), history.kept_calls.end(),
                                  [call](const auto& kept) { return kept.call.id == call; });
  return found == history.kept_calls.end() ? nullptr : &found->call;
}

nlohmann::ordered_json RolloutView::new_messages(const Call& call) const {
  auto messages = parse_ordered_json(call.request_json.items());
  if (messages.is_discarded()) return call.request_json.items();
  const Call* base = find(call.base);
  if (base == nullptr || !messages.is_array()) return messages;
  const auto known = parse_ordered_json(base->request_json.items());
  if (!known.is_array()) return messages;
  const auto first = std::mismatch(messages.begin(), messages.end(), known.begin(), known.end()).first;
  messages.erase(messages.begin(), first);
  return messages;
}

std::string RolloutView::text_of(std::span<const TokenId> ids) const {
  return tokenizer ? tokenizer->decode(ids, true) : "";
}

std::string RolloutView::fate_text() const {
  const auto& one = rollout();
  if (one.spec.mode == Mode::val) return "not trained: validation";
  if (!one.outcome) return "not trained: it has not ended";
  if (one.fate.empty()) return "not trained: none of its calls has a loss";
  if (one.fate == "trained") return cat("trained in the update that made version ", version_name(*update()));
  return one.fate == "waiting" ? "waits for an update" : cat("not trained: ", one.fate);
}

std::string version_name(const UpdateSummary& update) {
  const auto& record = update.made.record;
  const auto checksum = record.weights_checksum;
  return cat(record.policy_version, checksum == 0 ? "" : cat(" (weights ", hex(checksum), ")"));
}
}  // namespace corisco::app
