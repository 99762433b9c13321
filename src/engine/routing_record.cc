#include "engine/routing_record.h"

#include <algorithm>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::engine {
void RoutingRecord::watch(model::ForwardInput& forward) {
  if (width_ == 0) return;
  slots_ = forward.slots;
  forward.used_experts = &used_;
}

void RoutingRecord::keep() {
  if (width_ == 0) return;
  CORISCO_ASSERT(used_.size() == slots_.size() * width_,
                 cat(used_.size(), " experts of ", slots_.size(), " tokens with ", width_, " each"));
  const auto num_rows = static_cast<std::size_t>(*std::max_element(slots_.begin(), slots_.end())) + 1;
  if (rows_.size() < num_rows * width_) rows_.resize(num_rows * width_);
  for (std::size_t t = 0; t < slots_.size(); ++t) {
    std::copy_n(used_.data() + t * width_, width_, rows_.data() + static_cast<std::size_t>(slots_[t]) * width_);
  }
}

void RoutingRecord::extend(std::vector<model::ExpertId>& known, const Sequence& sequence,
                           std::uint32_t num_tokens) const {
  if (width_ == 0) return;
  for (std::size_t t = known.size() / width_; t < num_tokens; ++t) {
    const auto block = static_cast<std::size_t>(sequence.blocks[t / block_tokens_]);
    const auto* first = rows_.data() + (block * block_tokens_ + t % block_tokens_) * width_;
    known.insert(known.end(), first, first + width_);
  }
}
}  // namespace corisco::engine
