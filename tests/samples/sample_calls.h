// Short ways to write calls and rollouts in the tests of this module.
#pragma once
#include <string>
#include <vector>

#include "corisco/samples/journal.h"
#include "corisco/types/sample.h"

namespace corisco::samples {
// A delivered call of rollout 1 whose tokens have log-probabilities that tell them apart.
inline Call make_call(std::uint32_t turn, std::vector<TokenId> prompt, const std::vector<TokenId>& reply,
                      std::uint64_t version = 5, std::uint32_t choice = 0) {
  Call call;
  call.id = CallId{100 * (turn + 1) + choice};
  call.attempt = {RolloutId{1}, 1};
  call.turn = turn;
  call.choice = choice;
  call.prompt_ids = std::move(prompt);
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const float logprob = -0.5F - static_cast<float>(turn) - 0.125F * static_cast<float>(i);
    call.tokens.push_back({reply[i], logprob, logprob, PolicyVersion{version}});
  }
  call.is_delivered = true;
  return call;
}

inline FinishedRollout make_rollout(std::vector<Call> calls) {
  FinishedRollout rollout;
  rollout.spec.id = RolloutId{1};
  rollout.reward = 1.0;
  rollout.calls = std::move(calls);
  return rollout;
}

inline RolloutSpec make_spec(std::uint64_t id, std::uint64_t group, std::uint32_t sibling,
                             std::uint64_t occurrence = 0, Mode mode = Mode::train) {
  RolloutSpec spec;
  spec.id = RolloutId{id};
  spec.group = GroupId{group};
  spec.task_occurrence = occurrence;
  spec.sibling = sibling;
  spec.mode = mode;
  spec.task_id = "task-" + std::to_string(occurrence);
  spec.task_json = R"({"id": "x"})";
  return spec;
}

inline FinishedRollout make_end(std::uint64_t id, std::optional<double> reward,
                                Outcome outcome = Outcome::completed, std::uint32_t attempt = 1) {
  FinishedRollout rollout;
  rollout.spec.id = RolloutId{id};
  rollout.attempt = attempt;
  rollout.outcome = outcome;
  rollout.reward = reward;
  return rollout;
}
}  // namespace corisco::samples
