// Which experts the tokens of the KV cache went to, beside their keys and values: a sequence that begins
// with cached blocks gets what was recorded when they were computed. Owned by the engine, on the device
// thread. It never decides where a token goes.
#pragma once
#include <cstdint>
#include <vector>

#include "corisco/model/decoder.h"
#include "engine/sequence.h"

namespace corisco::engine {
// A token's experts are those of the first pass that computed it for its sequence: the draw of the token
// behind it came out of that pass. Passes that compute it again, after a preemption or under newer weights,
// change nothing of what is known of the sequence, so that each sampled token is trained through what its
// own draw went through; the keys that later tokens saw may have come from another pass.
class RoutingRecord {
 public:
  // width: experts of one token over all layers; 0: nothing is recorded.
  RoutingRecord(std::size_t width, std::uint32_t block_tokens) : width_(width), block_tokens_(block_tokens) {}

  // Before a pass: it will leave its experts here.
  void watch(model::ForwardInput& forward);
  // After it, if it succeeded.
  void keep();
  // known [t, width], of the sequence's first t tokens -> of its first num_tokens, which are in its blocks.
  void extend(std::vector<model::ExpertId>& known, const Sequence& sequence, std::uint32_t num_tokens) const;
  // The cache was given back; nothing is asked of it until it is filled anew.
  void release_memory() { rows_ = {}; }

 private:
  const std::size_t width_;
  const std::uint32_t block_tokens_;
  std::vector<std::int64_t> slots_;        // of the pass under way
  std::vector<model::ExpertId> used_;      // by it
  std::vector<model::ExpertId> rows_;      // [rows of the cache so far, width]
};
}  // namespace corisco::engine
