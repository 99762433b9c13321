// The blocks of the KV cache as numbers: who uses which, and which hold what prefix.
// Owned by the scheduler, on the device thread. It never touches the memory behind a block.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <queue>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "corisco/base/id.h"
#include "corisco/types/call.h"

namespace corisco::engine {
using BlockIndex = std::int32_t;
// Names one exact token prefix that ends at a block's end, under one policy version; 0 is the
// empty prefix. Equal ids mean equal tokens, since a block is recorded under its parent's id.
using PrefixId = std::uint64_t;

// block_tokens 4, tokens [5 6 7 8 | 9 1 2 3 | 4]: two full blocks are recorded and can be shared;
// the third is partial and belongs to one sequence alone, so nothing is ever copied on write.
//
// A block is free, used (references > 0) or cached (recorded, no references). Cached ones count
// as available: the one released longest ago is taken when no block is free.
class BlockPool {
 public:
  // key_mask: which bits of the hash the index uses; tests take few, so that keys collide.
  BlockPool(std::uint32_t num_blocks, std::uint32_t block_tokens, std::uint64_t key_mask = ~0ULL);

  std::uint32_t block_tokens() const { return block_tokens_; }
  std::uint32_t num_blocks() const { return static_cast<std::uint32_t>(blocks_.size()); }
  std::uint32_t num_available() const;
  std::uint32_t num_used() const { return num_blocks() - num_available(); }
  std::uint32_t blocks_for(std::size_t num_tokens) const;

  // With one reference; the lowest free number, so that neighbours in a sequence are often
  // neighbours in memory.
  std::optional<BlockIndex> allocate();
  void release(BlockIndex block);

  struct Prefix {
    std::vector<BlockIndex> blocks;
    PrefixId id = 0;
  };
  // The longest recorded prefix of ids in whole blocks, with a reference taken on each.
  Prefix acquire_prefix(std::span<const TokenId> ids);
  // The used block holds these block_tokens ids behind the prefix parent. When another block
  // holds the same already, that one stays the recorded one. Returns the prefix's id. tokens_hash: of all tokens
  // up to its end, the same under every version; 0: not told.
  PrefixId record(BlockIndex block, PrefixId parent, std::span<const TokenId> ids, std::uint64_t tokens_hash = 0);
  // The one that a recorded block ends; 0 of another.
  PrefixId prefix_of(BlockIndex block) const { return blocks_.at(block).prefix; }
  // Forgets every recorded prefix: what is computed from now on belongs to this version.
  void start_version(PolicyVersion version);
  // Tokens that were recorded when a version ended and have been computed again since, in whole blocks.
  std::uint64_t num_recomputed_tokens() const { return num_recomputed_tokens_; }

 private:
  struct Block {
    std::uint32_t references = 0;
    PrefixId prefix = 0;                     // 0: not recorded
    PrefixId parent = 0;
    std::uint64_t key = 0;                   // in index_
    std::uint64_t tokens_hash = 0;
    std::vector<TokenId> ids;
    std::list<BlockIndex>::iterator cached;  // valid while recorded without references
  };
  std::uint64_t key_of(PrefixId parent, std::span<const TokenId> ids) const;
  std::optional<BlockIndex> find(std::uint64_t key, PrefixId parent,
                                 std::span<const TokenId> ids) const;
  void acquire(BlockIndex block);
  void forget(BlockIndex block);

  const std::uint32_t block_tokens_;
  const std::uint64_t key_mask_;
  PolicyVersion version_;
  PrefixId last_prefix_ = 0;
  std::vector<Block> blocks_;
  std::priority_queue<BlockIndex, std::vector<BlockIndex>, std::greater<>> free_;
  std::list<BlockIndex> cached_;             // released longest ago first
  std::unordered_map<std::uint64_t, BlockIndex> index_;
  std::unordered_set<std::uint64_t> stale_;  // hashes of the last version's prefixes, until they are there again
  std::uint64_t num_recomputed_tokens_ = 0;
};
}  // namespace corisco::engine
