#include "app/inspect/json.h"

#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const Count& count) { return {{"calls", count.calls}, {"tokens", count.tokens}}; }

Json to_json(const std::map<std::string, Count>& dropped) {
  Json json = Json::object();
  for (const auto& [reason, count] : dropped) json[reason] = to_json(count);
  return json;
}

// A number of 64 bits as its 16 digits: JSON's own numbers lose some of them in many readers.
Json checksum_json(std::uint64_t checksum) { return checksum == 0 ? Json() : Json(hex(checksum)); }

Json to_json(const UpdateSummary& update) {
  const auto& record = update.made.record;
  Json groups = Json::array();
  for (const auto group : record.groups) groups.push_back(group.value);
  return {{"version", record.policy_version.value},
          {"weights_checksum", checksum_json(record.weights_checksum)},
          {"groups", std::move(groups)},
          {"rollouts", update.num_rollouts},
          {"trained_tokens", update.num_trained_tokens},
          {"reward_mean", update.reward_mean},
          {"checkpoint", update.checkpoint},
          {"is_skipped", record.was_skipped},
          {"is_void", update.made.is_void}};
}

Json to_json(RolloutId id, const RolloutHistory& rollout, const RunHistory& history) {
  const auto& spec = rollout.spec;
  const bool is_trained = rollout.fate == "trained";
  return {{"rollout", id.value},
          {"group", spec.group.value},
          {"task_id", spec.task_id},
          {"task_occurrence", spec.task_occurrence},
          {"sibling", spec.sibling},
          {"mode", to_string(spec.mode)},
          {"attempts", rollout.num_attempts},
          {"outcome", rollout.outcome ? Json(to_string(*rollout.outcome)) : Json()},
          {"reward", or_null(rollout.reward)},
          {"note", rollout.note},
          {"seconds", rollout.seconds},
          {"advantage", or_null(rollout.advantage)},
          {"sampled", to_json(rollout.sampled)},
          {"learnable", to_json(rollout.learnable)},
          {"rows", rollout.num_rows},
          {"dropped", to_json(rollout.dropped)},
          {"fate", rollout.fate},
          {"trained_in_version",
           is_trained ? Json(history.updates[*rollout.update].made.record.policy_version.value) : Json()}};
}

void add_tokens(const RolloutView& view, const Call& call, Json& json) {
  Json ids = Json::array(), sampled = ids, drawn = ids, versions = ids, texts = ids;
  for (const auto& token : call.tokens) {
    ids.push_back(token.id);
    sampled.push_back(token.sampled_logprob);
    drawn.push_back(token.drawn_logprob);
    versions.push_back(token.policy_version.value);
    if (view.tokenizer) texts.push_back(view.text_of({&token.id, 1}));
  }
  json["token_ids"] = std::move(ids);
  json["sampled_logprobs"] = std::move(sampled);
  json["drawn_logprobs"] = std::move(drawn);
  json["policy_versions"] = std::move(versions);
  if (view.tokenizer) json["token_texts"] = std::move(texts);
}

Json to_json(const RolloutView& view, const CallHistory& kept) {
  const auto& [call, account, dropped] = kept;
  const bool has_row = account.branch >= 0;
  Json json = {{"call", call.id.value},
               {"attempt", call.attempt.attempt},
               {"turn", call.turn},
               {"choice", call.choice},
               {"state", to_string(call.state)},
               {"is_delivered", call.is_delivered},
               {"is_trainable", call.is_trainable},
               {"finish", to_string(call.finish)},
               {"temperature", call.temperature},
               {"started_unix_seconds", call.started_unix_seconds},
               {"split", to_string(call.split)},
               {"branch", has_row ? Json(account.branch) : Json()},
               {"row_begin", has_row ? Json(account.row_begin) : Json()},
               {"row_split", has_row ? Json(to_string(account.split)) : Json()},
               {"dropped", dropped.empty() ? Json() : Json(dropped)},
               {"base", call.base.value},
               {"base_tokens", call.base_tokens},
               {"messages", parse_ordered_json(call.request_json.items())},
               {"new_messages", view.new_messages(call)},
               {"prompt_ids", call.prompt_ids.items()},
               {"reply", call.reply_text},
               {"parse_errors", call.parse_errors}};
  if (json["messages"].is_discarded()) json["messages"] = call.request_json.items();
  add_tokens(view, call, json);
  return json;
}
}  // namespace

Json to_json(const RunHistory& history) {
  Json rollouts = Json::array(), updates = Json::array();
  for (const auto& [id, rollout] : history.rollouts) rollouts.push_back(to_json(id, rollout, history));
  for (const auto& update : history.updates) updates.push_back(to_json(update));
  Json accounts = {{"produced", to_json(history.produced)}, {"trained", to_json(history.trained)},
                   {"waiting", to_json(history.waiting)},   {"dropped", to_json(history.dropped)},
                   {"balance", history.balances()},         {"problems", history.problems}};
  return {{"run", history.read.run_id},
          {"is_running", history.is_running},
          {"records", history.read.num_records},
          {"torn_bytes", history.read.torn_bytes},
          {"rollouts", std::move(rollouts)},
          {"updates", std::move(updates)},
          {"accounts", std::move(accounts)}};
}

Json to_json(const RolloutView& view) {
  Json json = to_json(view.id, view.rollout(), view.history);
  json["task_json"] = view.rollout().spec.task_json;
  json["coefficient"] = or_null(view.coefficient());
  json["update"] = view.update() == nullptr ? Json() : to_json(*view.update());
  Json rewards = Json::array(), calls = Json::array();
  for (const auto& reward : view.group_rewards()) rewards.push_back(or_null(reward));
  for (const auto& kept : view.history.kept_calls) calls.push_back(to_json(view, kept));
  json["group_rewards"] = std::move(rewards);
  json["calls"] = std::move(calls);
  return json;
}
}  // namespace corisco::app
