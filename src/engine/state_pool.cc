#include "engine/state_pool.h"

namespace corisco::engine {
StatePool::StatePool(std::uint32_t num_slots) : num_slots_(num_slots) {
  for (std::uint32_t i = num_slots; i-- > 0;) free_.push_back(static_cast<StateSlot>(i));
}

std::optional<StateSlot> StatePool::take() {
  if (free_.empty()) {
    if (kept_.empty()) return std::nullopt;
    forget(kept_.front().prefix);
  }
  const StateSlot slot = free_.back();
  free_.pop_back();
  return slot;
}

void StatePool::keep(StateSlot slot, PrefixId prefix) {
  if (find(prefix)) return release(slot);
  by_prefix_[prefix] = kept_.insert(kept_.end(), {prefix, slot});
}

std::optional<StateSlot> StatePool::find(PrefixId prefix) {
  const auto entry = by_prefix_.find(prefix);
  if (entry == by_prefix_.end()) return std::nullopt;
  kept_.splice(kept_.end(), kept_, entry->second);
  return entry->second->slot;
}

void StatePool::forget(PrefixId prefix) {
  const auto entry = by_prefix_.find(prefix);
  if (entry == by_prefix_.end()) return;
  free_.push_back(entry->second->slot);
  kept_.erase(entry->second);
  by_prefix_.erase(entry);
}

void StatePool::forget_all() {
  while (!kept_.empty()) forget(kept_.front().prefix);
}
}  // namespace corisco::engine
