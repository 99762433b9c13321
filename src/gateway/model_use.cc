#include "gateway/model_use.h"

#include <algorithm>
#include <utility>

namespace corisco::gateway {
void ModelUse::note(CallId call, const std::string& name) {
  if (!name.empty()) ++num_calls_[name];
  noted_.push_back({call, name});
}

void ModelUse::forget(CallId call) {
  auto* noted = find(call);
  if (noted == nullptr) return;
  take_name(*noted);
  noted_.erase(noted_.begin() + (noted - noted_.data()));
}

void ModelUse::forget_name(CallId call) {
  if (auto* noted = find(call)) take_name(*noted);
}

std::vector<std::string> ModelUse::names() const {
  std::vector<std::string> names;
  for (const auto& [name, number] : num_calls_) names.push_back(name);
  return names;
}

std::vector<CallId> ModelUse::settle() {
  std::vector<CallId> changed;
  for (auto& noted : noted_)
    if (std::exchange(noted.is_marked, has_several()) != has_several()) changed.push_back(noted.call);
  return changed;
}

ModelUse::Noted* ModelUse::find(CallId call) {
  const auto found = std::find_if(noted_.begin(), noted_.end(), [call](const auto& one) { return one.call == call; });
  return found == noted_.end() ? nullptr : &*found;
}

void ModelUse::take_name(Noted& noted) {
  const auto found = num_calls_.find(std::exchange(noted.name, {}));
  if (found != num_calls_.end() && --found->second == 0) num_calls_.erase(found);
}
}  // namespace corisco::gateway
