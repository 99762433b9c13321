#include "gateway/agent_lightning/records.h"

#include <utility>

#include "corisco/base/strings.h"
#include "gateway/agent_lightning/paths.h"
#include "gateway/ascii.h"

namespace corisco::gateway::lightning {
namespace {
// Null unless all of the text is one.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number = 0;
  if (!ascii::take_number(text, number) || !text.empty()) return std::nullopt;
  return number;
}

// "7" and "7-2".
std::optional<AttemptKey> own_name(std::string_view name) {
  const auto dash = name.find('-');
  const auto rollout = number_of<std::uint64_t>(name.substr(0, dash));
  if (!rollout) return std::nullopt;
  if (dash == std::string_view::npos) return AttemptKey{RolloutId{*rollout}, 1};
  const auto attempt = number_of<std::uint32_t>(name.substr(dash + 1));
  if (!attempt || *attempt < 2) return std::nullopt;
  return AttemptKey{RolloutId{*rollout}, *attempt};
}
}  // namespace

std::optional<AttemptKey> Records::resolve(std::string_view name, std::string_view attempt) const {
  const auto chosen = by_name_.find(std::string(name));
  const auto named = chosen != by_name_.end() ? std::optional(chosen->second) : own_name(name);
  if (!named || attempt == "0") return named;
  const auto number = number_of<std::uint32_t>(attempt);
  if (!number || (named->attempt != 1 && *number != named->attempt)) return std::nullopt;
  return AttemptKey{named->rollout, *number};
}

std::string Records::name_of(AttemptKey attempt) const {
  const auto* record = find(attempt);
  if (record != nullptr && !record->name.empty()) return record->name;
  return attempt.attempt == 1 ? cat(attempt.rollout) : cat(attempt.rollout, "-", attempt.attempt);
}

bool Records::is_free_form(std::string_view name) {
  return is_rollout_name(name) && name != "terminal" && name.find_first_not_of("0123456789-") != std::string_view::npos;
}

const Record* Records::find(AttemptKey attempt) const {
  const auto found = records_.find(attempt);
  return found == records_.end() ? nullptr : &found->second;
}

Record& Records::at(AttemptKey attempt) { return records_[attempt]; }

void Records::add(AttemptKey attempt, Record record) {
  bytes_ += record.bytes;
  if (!record.name.empty()) by_name_.emplace(record.name, attempt);
  records_.insert_or_assign(attempt, std::move(record));
}

bool Records::take_room(AttemptKey attempt, std::size_t bytes) {
  if (!has_room(find(attempt) == nullptr ? 1 : 0, bytes)) return false;
  at(attempt).bytes += bytes;
  bytes_ += bytes;
  return true;
}

void Records::forget(AttemptKey attempt) {
  const auto found = records_.extract(attempt);
  if (found.empty()) return;
  by_name_.erase(found.mapped().name);
  bytes_ -= found.mapped().bytes;
}

bool Records::make_room(std::size_t records, std::size_t bytes, const std::function<bool(AttemptKey)>& is_known) {
  if (has_room(records, bytes)) return true;
  std::vector<AttemptKey> unknown;
  for (const auto& [attempt, record] : records_)
    if (!is_known(attempt)) unknown.push_back(attempt);
  for (const auto attempt : unknown) forget(attempt);
  return has_room(records, bytes);
}
}  // namespace corisco::gateway::lightning
