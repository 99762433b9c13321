// `corisco try`: one rollout of one task without training, shown call by call.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/daemon_parts.h"
#include "corisco/base/json.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
void print_call(const Call& call, const text::Tokenizer& tokenizer) {
  std::printf("\n--- call %u: %zu prompt tokens, %zu sampled, finish %s\n", call.turn, call.prompt_ids.size(),
              call.tokens.size(), to_string(call.finish));
  std::printf("%s\n", tokenizer.decode(call.prompt_ids.items(), true).c_str());
  std::printf("--- reply (token, id, log-probability)\n");
  double sum = 0;
  for (const auto& token : call.tokens) {
    std::printf("  %-20s %6d  %8.4f\n", json_text(nlohmann::json(tokenizer.decode({&token.id, 1}, true))).c_str(),
                token.id, static_cast<double>(token.sampled_logprob));
    sum += token.sampled_logprob;
  }
  std::printf("--- text: %s\n", call.reply_text.c_str());
  if (!call.tokens.empty())
    std::printf("--- mean log-probability %.4f\n", sum / static_cast<double>(call.tokens.size()));
}
}  // namespace

// Of the training tasks or else the held-out ones; without an id the first.
const rollouts::Task* Daemon::Parts::find_task(const std::string& id) const {
  for (const auto* set : {tasks ? &*tasks : nullptr, heldout ? &*heldout : nullptr}) {
    if (set == nullptr) continue;
    for (const auto& task : set->all())
      if (id.empty() || task.id == id) return &task;
  }
  return nullptr;
}

void Daemon::Parts::try_task() {
  coordinator->start({});
  auto opened = controller->open_validation(*find_task(options.task), 0, 0);
  if (!opened.ok()) return fail(opened.error().message);
  tried = opened.value();
}

void Daemon::Parts::print_tried(const FinishedRollout& finished) {
  std::printf("task %s\n%s\n", finished.spec.task_id.c_str(), finished.spec.task_json.c_str());
  for (const auto& call : finished.calls) print_call(call, *tokenizer);
  std::printf("\noutcome %s after %.2f s\n", to_string(finished.outcome), finished.seconds);
  std::printf("reward  %s%s%s\n", finished.reward ? fixed(*finished.reward, 4).c_str() : "none",
              finished.reward_note.empty() ? "" : "  ", finished.reward_note.c_str());
  std::printf("files   %s\n", cat(folder.path, "/rollouts/", finished.spec.id).c_str());
  std::fflush(stdout);
  if (!is_trained(finished.outcome)) exit_code = kExitFailed;
  is_stopping = true;
}
}  // namespace corisco::app
