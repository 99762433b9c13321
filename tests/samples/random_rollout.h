// Random rollouts for the properties of merging: a harness that goes on from any earlier call, starts anew,
// edits the past, asks for choices, loses replies and asks again.
#pragma once
#include <vector>

#include "corisco/base/random.h"
#include "samples/sample_calls.h"

namespace corisco::samples {
// Draws of one seed, one after the other.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(uniform(seed_, counter_++) * bound); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  std::vector<TokenId> tokens(std::uint32_t least, std::uint32_t most) {
    std::vector<TokenId> ids(least + below(most - least + 1));
    for (auto& id : ids) id = static_cast<TokenId>(below(3));  // few ids, so that prefixes collide
    return ids;
  }

 private:
  std::uint64_t seed_, counter_ = 0;
};

inline std::vector<TokenId> whole_of(const Call& call) {
  auto ids = call.prompt_ids.items();
  for (const auto& token : call.tokens) ids.push_back(token.id);
  return ids;
}

// Sharing its beginning with an earlier prompt if it goes on from one, as the gateway makes them; base: the
// call that the new one says it goes on from, which is not always true.
inline SharedPrefix<TokenId> random_prompt(Dice& dice, const std::vector<Call>& calls, CallId& base) {
  if (calls.empty() || dice.one_in(4)) return dice.tokens(dice.one_in(20) ? 0 : 1, 3);
  const Call& from = calls[dice.below(static_cast<std::uint32_t>(calls.size()))];
  if (!dice.one_in(6)) base = from.id;
  auto whole = whole_of(from);
  if (dice.one_in(5) && !whole.empty()) {
    whole[dice.below(static_cast<std::uint32_t>(whole.size()))] ^= 1;
    return whole;
  }
  std::vector<TokenId> own(whole.begin() + static_cast<std::ptrdiff_t>(from.prompt_ids.size()), whole.end());
  const auto tail = dice.tokens(whole.empty() ? 1 : 0, 3);
  own.insert(own.end(), tail.begin(), tail.end());
  return SharedPrefix<TokenId>::extend(from.prompt_ids, from.prompt_ids.size(), own);
}

inline void draw_fate(Dice& dice, Call& call) {
  call.is_delivered = !dice.one_in(6);
  call.is_trainable = !dice.one_in(8);
  if (dice.one_in(4)) call.state = static_cast<CallState>(dice.below(6));
  if (dice.one_in(12)) call.finish = FinishReason::aborted;
  if (dice.one_in(10)) call.temperature = 0.5F;
  if (dice.one_in(4)) call.split = static_cast<SplitCause>(dice.below(12));
}

inline FinishedRollout random_rollout(Dice& dice) {
  FinishedRollout rollout = make_rollout({});
  if (dice.one_in(20)) rollout.outcome = Outcome::engine_failed;
  const std::uint32_t num_turns = 1 + dice.below(9);
  for (std::uint32_t turn = 0; turn < num_turns; ++turn) {
    CallId base;
    const auto prompt = random_prompt(dice, rollout.calls, base);
    const std::uint32_t num_choices = dice.one_in(5) ? 1 + dice.below(3) : 1;
    for (std::uint32_t choice = 0; choice < num_choices; ++choice) {
      Call call = make_call(turn, {}, dice.tokens(0, 4), turn / 2, choice);
      call.prompt_ids = prompt;
      call.base = base;
      // A log-probability that no other token of the rollout has.
      for (std::size_t i = 0; i < call.tokens.size(); ++i)
        call.tokens[i].sampled_logprob = -static_cast<float>(1 + 100 * turn + 10 * choice + i);
      draw_fate(dice, call);
      rollout.calls.push_back(std::move(call));
    }
  }
  return rollout;
}
}  // namespace corisco::samples
