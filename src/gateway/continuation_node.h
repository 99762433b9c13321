// A node of the tree of calls. Private to it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gateway/continuation.h"

namespace corisco::gateway {
struct CallTree::Node {
  static constexpr std::size_t kFormsMax = 6;
  static constexpr std::size_t kStemEndBytes = 64;

  const Node* parent = nullptr;
  SharedPrefix<char> stem;
  std::string stem_end;                  // its last bytes: where prompts that begin alike differ
  std::vector<std::string> forms;        // of its turn; the first one as sampled
  std::size_t turn_beginning_bytes = 0;  // of the first form: the prompt's part
  std::size_t end_bytes = 0;             // of the first form: the end of the turn
  bool is_literal = false;
  bool is_cut = false;
  bool is_delivered = false;
  std::vector<std::string> tool_call_ids;
  SplitCause split = SplitCause::none;
  Earlier call;                          // but for its turn and root stem
  std::vector<std::unique_ptr<Node>> children;

  std::string_view sampled() const {
    return std::string_view(forms.front()).substr(0, forms.front().size() - end_bytes);
  }
  std::string_view end() const { return std::string_view(forms.front()).substr(forms.front().size() - end_bytes); }
  std::string_view turn_beginning() const { return std::string_view(forms.front()).substr(0, turn_beginning_bytes); }
};
}  // namespace corisco::gateway
