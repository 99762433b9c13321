// Sliding windows as spans. Pure; no torch.
#pragma once
#include <cstdint>

#include "corisco/model/attention_plan.h"

namespace corisco::model {
// The plan in which each row keeps only the last `window` keys of its own. Keys stand in the order of
// their positions, one for each, so these are the keys k > q - window of a query at position q.
//   window 3, row with spans {8, 4} {2, 2}  ->  {11, 1} {2, 2}
AttentionPlan last_keys(const AttentionPlan& plan, std::int64_t window);
}  // namespace corisco::model
