#include "model/window.h"

namespace corisco::model {
AttentionPlan last_keys(const AttentionPlan& plan, std::int64_t window) {
  AttentionPlan result;
  for (std::size_t t = 0; t + 1 < plan.begin.size(); ++t) {
    auto first = static_cast<std::size_t>(plan.begin[t + 1]);
    std::int64_t missing = window;
    while (missing > 0 && first > static_cast<std::size_t>(plan.begin[t])) missing -= plan.spans[--first].length;
    for (auto s = first; s < static_cast<std::size_t>(plan.begin[t + 1]); ++s) {
      KeySpan span = plan.spans[s];
      if (s == first && missing < 0) {
        span.first -= static_cast<std::int32_t>(missing);
        span.length += static_cast<std::int32_t>(missing);
      }
      result.spans.push_back(span);
    }
    result.end_row();
  }
  return result;
}
}  // namespace corisco::model
