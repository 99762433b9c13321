#include "app/inspect/inspect.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/exit_codes.h"
#include "app/find_run.h"
#include "app/inspect/json.h"
#include "app/inspect/text.h"
#include "app/inspect/run_history.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
int refuse(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return kExitBadStart;
}

int report(const InspectOptions& options, const FoundRun& run, const RunHistory& history) {
  const auto& model_folder = run.loaded.config.model.path;
  RolloutView view{history, options.rollout, nullptr, "", run.loaded.config.trainer.advantage, options.all_tokens};
  if (options.rollout) {
    auto tokenizer = text::Tokenizer::load(model_folder);
    if (tokenizer.ok()) view.tokenizer = std::move(tokenizer).value();
    else view.no_tokenizer = cat("ids alone: there is no tokenizer in ", model_folder);
  }
  std::string text;
  if (options.as_json) text = json_text(options.rollout ? to_json(view) : to_json(history), 1) + "\n";
  else text = options.rollout ? to_text(view) : to_text(history, run.folder);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return history.balances() ? kExitDone : kExitFailed;
}
}  // namespace

int inspect(const InspectOptions& options) {
  const auto run = find_run(options.run, {});
  if (!run.ok()) return refuse(run.error());
  const auto& config = run.value().loaded.config;
  // A daemon that goes on meanwhile is only ever ahead of what was read.
  const auto source = [&](const auto& for_each) { return samples::read_journal(run.value().folder, for_each); };
  const auto history = gather_history(source, {config.samples, trainer::advantage_kind(config.trainer.advantage),
                                               run.value().is_running, options.rollout});
  if (!history.ok()) return refuse(history.error());
  if (options.rollout && !history.value().rollouts.contains(options.rollout))
    return refuse({Code::not_found, cat("the journal of ", run.value().folder, " has no rollout ", options.rollout)});
  return report(options, run.value(), history.value());
}
}  // namespace corisco::app
