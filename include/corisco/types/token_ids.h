// The ids alone of what was sampled.
#pragma once
#include <vector>

#include "corisco/types/call.h"

namespace corisco {
// [T] from tokens [T].
inline std::vector<TokenId> token_ids(const std::vector<SampledToken>& tokens) {
  std::vector<TokenId> ids;
  ids.reserve(tokens.size());
  for (const SampledToken& token : tokens) ids.push_back(token.id);
  return ids;
}
}  // namespace corisco
