// A bounded lock-free queue of owned pointers (Boost.Lockfree): one thread hands whole objects
// to another without copying or waiting. It never allocates after construction.
#pragma once
#include <boost/lockfree/queue.hpp>
#include <cstddef>
#include <memory>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco {
template <class T>
class HandoverQueue {
 public:
  // capacity: as many objects as can be under way at once, so that a push never finds it full.
  explicit HandoverQueue(std::size_t capacity) : items_(capacity) {}
  HandoverQueue(const HandoverQueue&) = delete;
  HandoverQueue& operator=(const HandoverQueue&) = delete;
  ~HandoverQueue() {
    while (try_pop()) {
    }
  }

  // Any thread. Full is a bug of the capacity's sum, not a state to handle.
  void push(std::unique_ptr<T> item) {
    const bool pushed = items_.bounded_push(item.get());
    CORISCO_ASSERT(pushed, cat("handover queue full; its capacity must cover all items under way"));
    (void)item.release();
  }
  // Any thread. Null when empty.
  std::unique_ptr<T> try_pop() {
    T* item = nullptr;
    return items_.pop(item) ? std::unique_ptr<T>(item) : nullptr;
  }
  bool empty() const { return items_.empty(); }

 private:
  boost::lockfree::queue<T*, boost::lockfree::fixed_sized<true>> items_;
};
}  // namespace corisco
