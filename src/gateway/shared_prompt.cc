#include "gateway/shared_prompt.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace corisco::gateway {
namespace {
std::uint32_t count_of(std::size_t size) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(size, std::numeric_limits<std::uint32_t>::max()));
}

template <class T, class Items>
SharedPrefix<T> extended(const SharedPrefix<T>& base, std::size_t common, const Items& items) {
  return SharedPrefix<T>::extend(base, common, Items(items.begin() + static_cast<std::ptrdiff_t>(common), items.end()));
}

// The one of them with the longest beginning in common; of equals the first.
template <class T, class Items>
std::pair<std::size_t, std::size_t> nearest(const std::vector<CallTree::Earlier>& earlier,
                                            SharedPrefix<T> CallTree::Earlier::*member, const Items& items) {
  std::pair<std::size_t, std::size_t> best{0, 0};   // index, items in common
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    const auto common = (earlier[i].*member).common_with(std::span<const T>(items.data(), items.size()));
    if (common > best.second) best = {i, common};
  }
  return best;
}
}  // namespace

void SharedPrompt::note_recorded(CallId call) {
  if (base == call) return;
  base = call;
  base_tokens = count_of(ids.size());
  base_request_bytes = count_of(request.size());
}

void SharedPrompt::give(Call& call) const {
  call.prompt_ids = ids;
  call.request_json = request;
  call.base = base;
  call.base_tokens = base_tokens;
  call.base_request_bytes = base_request_bytes;
}

SharedPrompt share(NewPrompt prompt, const std::vector<CallTree::Earlier>& earlier, bool goes_on) {
  const auto text = [](const std::string& all) { return std::span<const char>(all.data(), all.size()); };
  const auto [at, common_ids] = nearest(earlier, &CallTree::Earlier::ids, prompt.ids);
  const auto base = earlier.empty() ? CallTree::Earlier() : earlier[at];
  SharedPrompt shared;
  shared.ids = extended(base.ids, common_ids, prompt.ids);
  const auto common_bytes = base.request.common_with(text(prompt.request));
  shared.request = extended(base.request, common_bytes, prompt.request);
  if (common_ids + common_bytes > 0) shared.base = base.call;
  shared.base_tokens = count_of(common_ids);
  shared.base_request_bytes = count_of(common_bytes);
  const auto common_messages = base.messages.common_with(text(prompt.messages));
  const bool is_one = prompt.messages == prompt.request;
  shared.messages = is_one ? shared.request : extended(base.messages, common_messages, prompt.messages);
  if (goes_on || earlier.empty()) {
    shared.stem = std::move(prompt.stem);   // all of it is new
  } else {
    const auto [root, common_stem] = nearest(earlier, &CallTree::Earlier::root_stem, prompt.stem);
    shared.stem = extended(earlier[root].root_stem, common_stem, prompt.stem);
  }
  return shared;
}
}  // namespace corisco::gateway
