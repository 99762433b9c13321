// Whole groups out of a journal, as the trainer had them. Pure.
#pragma once
#include <map>
#include <memory>
#include <set>

#include "corisco/base/result.h"
#include "corisco/samples/recovery.h"
#include "corisco/types/rollout.h"

namespace corisco::app {
using Groups = std::map<GroupId, std::unique_ptr<Group>>;
// Exactly those that are wanted. conflict if one is not whole, or lost its prompts and replies for their age.
Result<Groups> read_groups(const samples::RecordSource& source, const std::set<GroupId>& wanted);
}  // namespace corisco::app
