// Rows -> micro-batches under a token budget. The old-logprob pass and the update pass use the
// same ones, so that the same row goes through the same arithmetic in both.
#pragma once
#include <cstdint>
#include <vector>

#include "corisco/model/decoder.h"
#include "trainer/assemble.h"

namespace corisco::trainer {
struct PackingOptions {
  std::size_t tokens_max = 256;
  bool share_prefixes = true;
  bool replays_routing = false;
};

// One forward pass. Entry i of the last three says: hidden_rows[i] predicts target_ids[i], which
// is Assembly::tokens[tokens[i]]. Several entries may read one hidden row, where rows branch.
struct MicroBatch {
  model::ForwardInput input;              // [T]
  float temperature = 1.0F;               // of all its rows
  std::vector<std::int64_t> hidden_rows;  // [N]
  std::vector<std::int64_t> target_ids;   // [N]
  std::vector<std::size_t> tokens;        // [N]
};

// Rows in their order, each into the open micro-batch where it adds the fewest tokens. A row
// longer than the budget gets one of its own.
std::vector<MicroBatch> pack(const Assembly& assembly, const PackingOptions& options);
}  // namespace corisco::trainer
