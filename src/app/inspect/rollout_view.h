// One rollout of a gathered history, with what is needed to show it: shared by the text and the JSON of
// `corisco inspect RUN ROLLOUT`. Pure.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/inspect/run_history.h"
#include "corisco/text/tokenizer.h"

namespace corisco::app {
struct RolloutView {
  const RunHistory& history;
  RolloutId id;
  std::shared_ptr<const text::Tokenizer> tokenizer;   // null: ids alone
  std::string no_tokenizer;                           // why
  std::string advantage_name;                         // trainer.advantage
  bool all_tokens = false;

  const RolloutHistory& rollout() const { return history.rollouts.at(id); }
  // The update that consumed its group; null if none in force did.
  const UpdateSummary* update() const;
  // 1 / (R T) of its trained tokens; none before an update has consumed its group.
  std::optional<double> coefficient() const;
  // Of its group, by sibling; none where a sibling is out of the baseline.
  std::vector<std::optional<double>> group_rewards() const;
  const Call* find(CallId id) const;
  // The messages of the call that its base did not have.
  nlohmann::ordered_json new_messages(const Call& call) const;
  std::string text_of(std::span<const TokenId> ids) const;
  // "trained in the update that made version 3", "waiting", "not trained: group_superseded".
  std::string fate_text() const;
};
// "3 (weights 1a2b3c4d5e6f7081)": a number alone does not name a version that was made twice.
std::string version_name(const UpdateSummary& update);
}  // namespace corisco::app
