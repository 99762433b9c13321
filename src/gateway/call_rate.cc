#include "gateway/call_rate.h"

#include <algorithm>

namespace corisco::gateway {
TimePoint CallRate::reserve(TimePoint now, std::uint32_t max) {
  while (!moments_.empty() && moments_.front() + kWindow <= now) moments_.pop_front();
  auto moment = now;
  if (!moments_.empty()) moment = std::max(moment, moments_.back());
  if (moments_.size() >= max) moment = std::max(moment, moments_[moments_.size() - max] + kWindow);
  moments_.push_back(moment);
  return moment;
}

void CallRate::release(TimePoint moment) {
  const auto found = std::find(moments_.begin(), moments_.end(), moment);
  if (found != moments_.end()) moments_.erase(found);
}
}  // namespace corisco::gateway
