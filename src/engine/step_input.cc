// Block tables become spans of cache rows; neighbouring blocks become one span.
#include "engine/step_input.h"

#include <algorithm>

namespace corisco::engine {
namespace {
// The runs of cache rows that hold the sequence's tokens, in the order of their positions.
std::vector<model::KeySpan> cache_runs(const Sequence& sequence, std::uint32_t block_tokens) {
  const auto length = static_cast<std::int32_t>(block_tokens);
  std::vector<model::KeySpan> runs;
  for (const BlockIndex block : sequence.blocks) {
    const std::int32_t first = block * length;
    if (!runs.empty() && runs.back().first + runs.back().length == first)
      runs.back().length += length;
    else
      runs.push_back({first, length});
  }
  return runs;
}

void add_row(model::ForwardInput& forward, const Sequence& sequence, std::uint32_t position,
             const std::vector<model::KeySpan>& runs) {
  auto left = static_cast<std::int32_t>(position) + 1;
  std::int64_t slot = 0;
  for (const auto& run : runs) {
    const std::int32_t length = std::min(left, run.length);
    forward.attention.spans.push_back({run.first, length});
    slot = run.first + length - 1;
    left -= length;
    if (left == 0) break;
  }
  forward.attention.end_row();
  forward.token_ids.push_back(sequence.token_ids[position]);
  forward.positions.push_back(position);
  forward.slots.push_back(slot);
}
// Before the rows themselves are added.
void add_scored(StepInput& input, const ScheduledRow& row) {
  const auto first = static_cast<std::int64_t>(input.forward.token_ids.size());
  for (std::uint32_t i = 0; i < row.num_scored; ++i)
    input.scored_rows.push_back({first + i, row.sequence->token_ids[row.first + i + 1]});
}

void add_state(StepInput& input, const ScheduledRow& row) {
  if (!row.sequence->state) return;
  const StateSlot own = *row.sequence->state;
  input.forward.states.insert(input.forward.states.end(), row.num_tokens, own);
  if (row.saves_to) input.saves.push_back({own, *row.saves_to});
}
}  // namespace

StepInput make_step_input(const ScheduledStep& step, std::uint32_t block_tokens) {
  StepInput input;
  input.resumes = step.resumes;
  for (const auto& row : step.rows) {
    add_scored(input, row);
    const auto runs = cache_runs(*row.sequence, block_tokens);
    for (std::uint32_t i = 0; i < row.num_tokens; ++i)
      add_row(input.forward, *row.sequence, row.first + i, runs);
    add_state(input, row);
    if (row.draws)
      input.logit_rows.push_back(static_cast<std::int64_t>(input.forward.token_ids.size()) - 1);
  }
  return input;
}
}  // namespace corisco::engine
