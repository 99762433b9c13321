// Runs requests through an engine until all have ended, and keeps what each gained.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"
#include "corisco/engine/engine.h"

namespace corisco::engine {
struct Reply {
  std::vector<SampledToken> tokens;
  std::vector<std::vector<TopLogprob>> top_logprobs;
  std::optional<FinishReason> finish;
  std::optional<Error> error;
  std::vector<std::uint16_t> routed_experts{};
  std::vector<PromptLogprob> prompt_logprobs{};

  std::vector<TokenId> ids() const {
    std::vector<TokenId> out;
    for (const auto& token : tokens) out.push_back(token.id);
    return out;
  }
};
using Replies = std::map<std::uint64_t, Reply>;

inline EngineRequest make_request(std::uint64_t id, std::vector<TokenId> prompt,
                                  std::uint32_t max_tokens, std::uint64_t key = 0) {
  EngineRequest request;
  request.id = {id};
  request.queue_order = id;
  request.prompt_ids = std::move(prompt);
  request.sampling.max_tokens = max_tokens;
  request.sampling.key = key;
  return request;
}

inline void collect(Engine& engine, Replies& replies) {
  for (auto& delta : engine.step()) {
    Reply& reply = replies[delta.id.value];
    CORISCO_ASSERT(!reply.finish, cat("request ", delta.id, " goes on after its end"));
    for (const auto& token : delta.tokens) reply.tokens.push_back(token);
    for (auto& top : delta.top_logprobs) reply.top_logprobs.push_back(std::move(top));
    for (auto& token : delta.prompt_logprobs) reply.prompt_logprobs.push_back(std::move(token));
    reply.finish = delta.finish;
    reply.error = delta.error;
    reply.routed_experts = std::move(delta.routed_experts);
  }
}

inline Replies finish(Engine& engine, Replies replies = {}) {
  for (int steps = 0; engine.has_work(); ++steps) {
    CORISCO_ASSERT(steps < 100000, cat("the engine does not end"));
    collect(engine, replies);
  }
  return replies;
}

// Bit for bit: ids, both logprobs, and the end.
inline bool are_equal(const Reply& a, const Reply& b) {
  if (a.tokens.size() != b.tokens.size() || a.finish != b.finish) return false;
  for (std::size_t i = 0; i < a.tokens.size(); ++i)
    if (a.tokens[i].id != b.tokens[i].id || a.tokens[i].sampled_logprob != b.tokens[i].sampled_logprob ||
        a.tokens[i].drawn_logprob != b.tokens[i].drawn_logprob)
      return false;
  return true;
}
}  // namespace corisco::engine
