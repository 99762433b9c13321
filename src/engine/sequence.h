// One sequence in the scheduler: its tokens, and how much of them the KV cache holds.
// Owned by the scheduler; the device loop reads it between schedule() and update().
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "corisco/base/id.h"
#include "corisco/types/call.h"
#include "engine/block_pool.h"
#include "engine/state_pool.h"

namespace corisco::engine {
// (queue_order, arrival): who is admitted first, and who is preempted last.
using QueueKey = std::pair<std::uint64_t, std::uint64_t>;

//   prompt [a b c d e], two tokens drawn [f g], block_tokens 4
//   token_ids [a b c d e f g]  num_prompt 5  num_computed 6  blocks [b0 b1]  num_recorded 1
//   the next step computes g at position 6 and draws what follows it
struct Sequence {
  RequestId id;
  QueueKey key;
  std::vector<TokenId> token_ids;     // the prompt, then what was drawn
  std::uint32_t num_prompt = 0;
  std::uint32_t num_computed = 0;     // tokens whose keys and values are in blocks
  std::vector<BlockIndex> blocks;
  std::uint32_t num_recorded = 0;     // leading blocks that are recorded as a prefix
  PrefixId prefix = 0;                // that they make
  // [i]: of the tokens up to the end of block i; kept up to date where blocks are shared.
  std::vector<std::uint64_t> prefix_hashes;
  // Of a decoder with recurrent layers, while it runs: the slot of its state after num_computed tokens, and the one
  // that the step in progress copies that state to.
  std::optional<StateSlot> state, saving;
  PrefixId saved_reply = 0;           // that a state is kept of because of this sequence's reply
  bool scores_prompt = false;         // the log-probabilities of its prompt are asked for
  bool was_admitted = false;          // before: a later admission recomputes
  std::uint32_t num_reused = 0;       // prompt tokens that its first admission found in blocks

  std::uint32_t num_tokens() const { return static_cast<std::uint32_t>(token_ids.size()); }
  std::uint32_t num_remaining() const { return num_tokens() - num_computed; }
  // Each row of the prompt is still wanted, so none may come from the cache. Once a token is drawn all were made.
  bool wants_prompt_rows() const { return scores_prompt && num_tokens() == num_prompt; }
};
}  // namespace corisco::engine
