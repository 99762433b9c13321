// Which keys each query row attends to. Plain numbers, without torch.
#pragma once
#include <cstdint>
#include <vector>

namespace corisco::model {
// A run of rows in the key/value store: rows first .. first + length - 1.
struct KeySpan {
  std::int32_t first = 0;
  std::int32_t length = 0;
};

// Which keys each query row attends to, in the order of their positions: row t attends to
// spans[begin[t]] .. spans[begin[t + 1] - 1], its own key being the last. Causality, paging and
// prefixes that rows share are all expressed by spans, so one attention serves prefill, decoding
// and training, and the result of a row depends only on its own keys, their order and, where layers slide, its
// position.
struct AttentionPlan {
  std::vector<std::int32_t> begin{0};  // [T + 1]
  std::vector<KeySpan> spans;
  void end_row() { begin.push_back(static_cast<std::int32_t>(spans.size())); }
};
}  // namespace corisco::model
