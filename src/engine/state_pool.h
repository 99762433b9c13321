// Slots for the states of recurrent layers as numbers: one for each running sequence, and states that are
// kept of recorded prefixes, so that who begins with one goes on from it.
// Owned beside the block pool, on the device thread. It never touches the memory behind a slot.
#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/block_pool.h"

namespace corisco::engine {
using StateSlot = std::int32_t;

// The state of a sequence, from one slot to another.
struct StateCopy {
  StateSlot from = 0, to = 0;
};

// A slot is free, taken, or keeps the state after the tokens of a prefix. Kept ones make room for taken ones:
// the one used longest ago goes first.
class StatePool {
 public:
  explicit StatePool(std::uint32_t num_slots);

  std::uint32_t num_slots() const { return num_slots_; }
  // Free or kept.
  std::uint32_t num_available() const { return static_cast<std::uint32_t>(free_.size() + kept_.size()); }
  std::optional<StateSlot> take();
  void release(StateSlot slot) { free_.push_back(slot); }
  // A taken slot becomes the prefix's; it is free instead if the prefix has one already.
  void keep(StateSlot slot, PrefixId prefix);
  // The slot that keeps the prefix's state, which was used just now.
  std::optional<StateSlot> find(PrefixId prefix);
  void forget(PrefixId prefix);
  // What is kept belongs to older weights.
  void forget_all();

 private:
  struct Kept {
    PrefixId prefix;
    StateSlot slot;
  };
  const std::uint32_t num_slots_;
  std::vector<StateSlot> free_;
  std::list<Kept> kept_;  // used longest ago first
  std::unordered_map<PrefixId, std::list<Kept>::iterator> by_prefix_;
};
}  // namespace corisco::engine
