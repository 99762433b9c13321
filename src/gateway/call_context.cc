#include "gateway/call_context.h"

#include <utility>

#include "corisco/base/json.h"
#include "corisco/base/log.h"

namespace corisco::gateway {
void CallContext::warn_of_several_models(const std::vector<std::string>& names, AttemptKey attempt) {
  if (std::exchange(has_warned_of_models, true)) return;
  const nlohmann::json list = names;   // quoted, since they are the clients' texts
  log::warn(cat("rollout ", attempt.rollout, " asks for several models, ", json_text(list),
                ", and nothing of it is trained, nor of others like it: which of them is the policy is not known. "
                "List in gateway.frozen_names those that are not to be trained (the policy's weights reply to them "
                "all the same) or give another server's URL in gateway.upstream_urls; or list in "
                "gateway.model_names all that are the policy"));
}
}  // namespace corisco::gateway
