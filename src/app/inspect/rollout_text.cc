// One rollout for people: what happened to it, then each call with its messages, tokens and place.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "app/inspect/text.h"
#include "app/inspect/text_table.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
constexpr std::size_t kFirstTokens = 8, kLastTokens = 4;   // shown of each call without --tokens

std::string quoted(const std::string& text) { return json_text(nlohmann::json(text)); }

bool is_shown(const RolloutView& view, std::size_t index, std::size_t size) {
  return view.all_tokens || index < kFirstTokens || index + kLastTokens >= size;
}

std::string left_out(const RolloutView& view, std::size_t size) {
  if (view.all_tokens || size <= kFirstTokens + kLastTokens) return "";
  return cat("  ... ", size - kFirstTokens - kLastTokens, " tokens more: --tokens shows all\n");
}

std::string head(const RolloutView& view) {
  const auto& rollout = view.rollout();
  const auto& spec = rollout.spec;
  std::string text = cat("rollout ", view.id, "  task ", spec.task_id, " (occurrence ", spec.task_occurrence,
                         ")  mode ", to_string(spec.mode));
  if (spec.group) text += cat("  group ", spec.group, "  sibling ", spec.sibling);
  text += cat("\ntask         ", spec.task_json.empty() ? "(removed for its age)" : spec.task_json, "\noutcome      ");
  if (rollout.outcome) text += cat(to_string(*rollout.outcome), " after ", fixed(rollout.seconds, 2), " s");
  else text += "none: it has not ended";
  text += cat(", attempt ", rollout.num_attempts, "\nreward       ");
  text += rollout.reward ? fixed(*rollout.reward, 6) : "none";
  if (!rollout.note.empty()) text += cat("  ", rollout.note);
  return text + "\n";
}

std::string learning(const RolloutView& view) {
  const auto& rollout = view.rollout();
  std::string text;
  if (rollout.advantage) {
    text += cat("advantage    ", fixed(*rollout.advantage, 6), "  (", view.advantage_name, " over the rewards");
    for (const auto& reward : view.group_rewards()) text += cat(" ", reward ? fixed(*reward, 4) : "-");
    text += ")\n";
  }
  if (const auto coefficient = view.coefficient())
    text += cat("coefficient  ", *coefficient, " of each trained token: 1/(R T), R ", view.update()->num_rollouts,
                " rollouts of the update, T ", rollout.learnable.tokens, " tokens of this one\n");
  text += cat("fate         ", view.fate_text(), "\n");
  for (const auto& [reason, count] : rollout.dropped)
    text += cat("dropped      ", count.tokens, " tokens of ", count.calls, " calls: ", reason, "\n");
  if (!view.no_tokenizer.empty()) text += view.no_tokenizer + "\n";
  return text;
}

std::string versions_of(const Call& call) {
  std::set<PolicyVersion> versions;
  for (const auto& token : call.tokens) versions.insert(token.policy_version);
  std::vector<std::string> names;
  for (const auto version : versions) names.push_back(cat(version));
  return join(names, " ");
}

std::string place_of(const CallHistory& kept) {
  const auto& [call, account, dropped] = kept;
  if (!dropped.empty()) return cat(dropped == "waiting" ? "" : "not trained: ", dropped);
  std::string text = cat("branch ", account.branch, " from token ", account.row_begin);
  if (account.split != SplitCause::none) text += cat(", which it begins: ", to_string(account.split));
  return text;
}

std::string call_head(const CallHistory& kept) {
  const auto& call = kept.call;
  return cat("\n=== call ", call.id, "  attempt ", call.attempt.attempt, "  turn ", call.turn, "  choice ", call.choice,
             "\nstate        ", to_string(call.state), call.is_delivered ? ", delivered" : ", not delivered",
             call.is_trainable ? "" : ", not trainable", ", finish ", to_string(call.finish), ", temperature ",
             call.temperature, ", policy versions ", versions_of(call),
             call.split == SplitCause::none ? "" : cat(", split ", to_string(call.split)), "\nplace        ",
             place_of(kept), "\n");
}

std::string prompt_text(const RolloutView& view, const Call& call) {
  const auto ids = call.prompt_ids.items();
  const auto reused = std::min<std::size_t>(call.base ? call.base_tokens : 0, ids.size());
  std::string text = cat("prompt       ", ids.size(), " tokens");
  if (reused > 0) text += cat(", the first ", reused, " as in call ", call.base);
  text += "\n";
  for (const auto& message : view.new_messages(call)) text += cat("  message  ", json_text(message), "\n");
  const auto added = std::span(ids).subspan(reused);
  if (view.tokenizer) text += cat("  text     ", quoted(view.text_of(added)), "\n");
  TextTable table({"position", "id", "text"});
  for (std::size_t i = 0; i < added.size(); ++i)
    if (is_shown(view, i, added.size()))
      table.add({cat(reused + i), cat(added[i]), quoted(view.text_of(added.subspan(i, 1)))});
  return text + table.text() + left_out(view, added.size());
}

std::string reply_text(const RolloutView& view, const Call& call) {
  double sum = 0;
  TextTable table({"position", "id", "log-probability", "drawn", "version", "text"});
  const auto size = call.tokens.size();
  for (std::size_t i = 0; i < size; ++i) {
    const auto& token = call.tokens[i];
    sum += token.sampled_logprob;
    if (!is_shown(view, i, size)) continue;
    table.add({cat(call.prompt_ids.size() + i), cat(token.id), fixed(token.sampled_logprob, 4),
               fixed(token.drawn_logprob, 4), cat(token.policy_version), quoted(view.text_of({&token.id, 1}))});
  }
  std::string text = cat("reply        ", size, " tokens");
  if (size > 0) text += cat(", mean log-probability ", fixed(sum / static_cast<double>(size), 4));
  text += cat("\n  text     ", quoted(call.reply_text), "\n", table.text(), left_out(view, size));
  for (const auto& error : call.parse_errors) text += cat("  parse error  ", error, "\n");
  return text;
}
}  // namespace

std::string to_text(const RolloutView& view) {
  std::string text = head(view) + learning(view);
  for (const auto& kept : view.history.kept_calls) {
    text += call_head(kept);
    if (kept.dropped != "removed") text += prompt_text(view, kept.call) + reply_text(view, kept.call);
  }
  return text;
}
}  // namespace corisco::app
