#include "rollouts/finished_log.h"

#include <algorithm>
#include <utility>

namespace corisco::rollouts {
namespace {
std::size_t size_of(const std::optional<RolloutStatus>& entry) {
  return entry ? entry->task_json.size() + entry->note.size() : 0;
}
}  // namespace

void FinishedLog::add(RolloutStatus ended) {
  numbers_[ended.attempt] = first_ + entries_.size();
  entries_.emplace_back(std::move(ended));
  bytes_ += size_of(entries_.back());
  while (entries_.size() > 1 && (entries_.size() > limits_.entries_max || bytes_ > limits_.bytes_max)) drop_first();
}

void FinishedLog::drop_first() {
  if (const auto& first = entries_.front()) numbers_.erase(first->attempt);
  bytes_ -= size_of(entries_.front());
  entries_.pop_front();
  ++first_;
}

void FinishedLog::forget(AttemptKey attempt) {
  const auto found = numbers_.extract(attempt);
  if (found.empty()) return;
  auto& entry = entries_[found.mapped() - first_];
  bytes_ -= size_of(entry);
  entry.reset();
}

const RolloutStatus* FinishedLog::find(AttemptKey attempt) const {
  const auto found = numbers_.find(attempt);
  return found == numbers_.end() ? nullptr : &*entries_[found->second - first_];
}

FinishedPage FinishedLog::page(std::uint64_t after, std::size_t limit) const {
  FinishedPage page;
  page.total = first_ + entries_.size();
  const auto begin = std::clamp(after, first_, page.total);
  const auto end = begin + std::min<std::uint64_t>(limit, page.total - begin);
  for (auto number = begin; number < end; ++number)
    if (const auto& entry = entries_[number - first_]) page.items.push_back(*entry);
  page.next_after = end;
  return page;
}
}  // namespace corisco::rollouts
