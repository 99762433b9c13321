// Block bookkeeping: references, the free heap, and the index of recorded prefixes.
#include "engine/block_pool.h"

#include <algorithm>

#include "corisco/base/assert.h"
#include "corisco/base/random.h"
#include "corisco/base/strings.h"

namespace corisco::engine {
BlockPool::BlockPool(std::uint32_t num_blocks, std::uint32_t block_tokens, std::uint64_t key_mask)
    : block_tokens_(block_tokens), key_mask_(key_mask), blocks_(num_blocks) {
  CORISCO_ASSERT(num_blocks > 0 && block_tokens > 0, cat(num_blocks, " x ", block_tokens));
  for (std::uint32_t i = 0; i < num_blocks; ++i) free_.push(static_cast<BlockIndex>(i));
}

std::uint32_t BlockPool::num_available() const {
  return static_cast<std::uint32_t>(free_.size() + cached_.size());
}

std::uint32_t BlockPool::blocks_for(std::size_t num_tokens) const {
  return static_cast<std::uint32_t>((num_tokens + block_tokens_ - 1) / block_tokens_);
}

std::optional<BlockIndex> BlockPool::allocate() {
  if (free_.empty()) {
    if (cached_.empty()) return std::nullopt;
    forget(cached_.front());
  }
  const BlockIndex block = free_.top();
  free_.pop();
  blocks_[block].references = 1;
  return block;
}

void BlockPool::release(BlockIndex index) {
  Block& block = blocks_.at(index);
  CORISCO_ASSERT(block.references > 0, cat("block ", index, " released twice"));
  if (--block.references > 0) return;
  if (block.prefix == 0)
    free_.push(index);
  else
    block.cached = cached_.insert(cached_.end(), index);
}

BlockPool::Prefix BlockPool::acquire_prefix(std::span<const TokenId> ids) {
  Prefix prefix;
  while (ids.size() >= block_tokens_) {
    const auto part = ids.first(block_tokens_);
    const auto found = find(key_of(prefix.id, part), prefix.id, part);
    if (!found) break;
    acquire(*found);
    prefix.blocks.push_back(*found);
    prefix.id = blocks_[*found].prefix;
    ids = ids.subspan(block_tokens_);
  }
  return prefix;
}

PrefixId BlockPool::record(BlockIndex index, PrefixId parent, std::span<const TokenId> ids,
                           std::uint64_t tokens_hash) {
  Block& block = blocks_.at(index);
  CORISCO_ASSERT(block.references > 0 && block.prefix == 0,
                 cat("block ", index, ": references ", block.references, ", prefix ", block.prefix));
  CORISCO_ASSERT(ids.size() == block_tokens_, cat(ids.size(), " ids in a block of ", block_tokens_));
  const std::uint64_t key = key_of(parent, ids);
  if (const auto same = find(key, parent, ids)) return blocks_[*same].prefix;
  // Two prefixes with one key: the newer wins, so that its continuation stays reachable.
  if (const auto other = index_.find(key); other != index_.end()) forget(other->second);
  block.prefix = ++last_prefix_;
  block.parent = parent;
  block.key = key;
  block.tokens_hash = tokens_hash;
  if (stale_.erase(tokens_hash) > 0) num_recomputed_tokens_ += block_tokens_;
  block.ids.assign(ids.begin(), ids.end());
  index_.emplace(key, index);
  return block.prefix;
}

void BlockPool::start_version(PolicyVersion version) {
  version_ = version;
  if (!index_.empty()) stale_.clear();   // empty: forgotten for an update already, whose end this is
  for (const auto& [key, index] : index_)
    if (blocks_[index].tokens_hash != 0) stale_.insert(blocks_[index].tokens_hash);
  while (!index_.empty()) forget(index_.begin()->second);
}

std::uint64_t BlockPool::key_of(PrefixId parent, std::span<const TokenId> ids) const {
  return hash_words({version_.value, parent, hash_ids(ids)}) & key_mask_;
}

std::optional<BlockIndex> BlockPool::find(std::uint64_t key, PrefixId parent,
                                          std::span<const TokenId> ids) const {
  const auto entry = index_.find(key);
  if (entry == index_.end()) return std::nullopt;
  const Block& block = blocks_[entry->second];
  // The key only points at a candidate; the tokens themselves decide.
  if (block.parent != parent || !std::ranges::equal(block.ids, ids)) return std::nullopt;
  return entry->second;
}

void BlockPool::acquire(BlockIndex index) {
  Block& block = blocks_[index];
  if (block.references++ == 0) cached_.erase(block.cached);
}

void BlockPool::forget(BlockIndex index) {
  Block& block = blocks_[index];
  index_.erase(block.key);
  block.prefix = 0;
  block.ids.clear();
  if (block.references > 0) return;
  cached_.erase(block.cached);
  free_.push(index);
}
}  // namespace corisco::engine
