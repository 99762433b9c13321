// The objects of Agent Lightning's API as JSON: rollouts, and the events of one. Pure; .cc files of the
// API include it.
#pragma once
#include <string>

#include "corisco/config/config.h"
#include "gateway/agent_lightning/records.h"
#include "gateway/json_fields.h"

namespace corisco::gateway::lightning {
// queuing, running, succeeded or failed. What is being graded still runs.
const char* state_of(const RolloutStatus& status);

// record: null if nothing was told of it. A task of the run may bring the config's local and k8s parts,
// which controllers need, in its field agl_config.
Json rollout_object(const RolloutStatus& status, const Record* record, const std::string& name,
                    const config::Config& config);

// Where calls were answered.
struct ModelOrigin {
  std::string model, endpoint;
};
enum class EventView : std::uint8_t { whole, triplet };   // triplet: ids, logprobs and values alone
Json event_object(const PostedEvent& event, const std::string& rollout, EventView view);
Json call_event(const Call& call, const std::string& rollout, const ModelOrigin& origin, EventView view);
}  // namespace corisco::gateway::lightning
