#include "app/evaluation.h"

#include <nlohmann/json.hpp>

#include "corisco/base/clock.h"
#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
nlohmann::json call_json(const Call& call) {
  nlohmann::json tokens = nlohmann::json::array(), logprobs = nlohmann::json::array();
  for (const auto& token : call.tokens) {
    tokens.push_back(token.id);
    logprobs.push_back(token.sampled_logprob);
  }
  return {{"turn", call.turn},
          {"choice", call.choice},
          {"messages", parse_json(call.request_json.items())},
          {"reply", call.reply_text},
          {"parse_errors", call.parse_errors},
          {"finish", to_string(call.finish)},
          {"prompt_ids", call.prompt_ids.items()},
          {"token_ids", tokens},
          {"sampled_logprobs", logprobs}};
}

std::string kind_of(const std::string& task_json) {
  const auto task = parse_json(task_json);
  if (!task.is_object() || !task.contains("kind") || !task["kind"].is_string()) return {};
  return task["kind"].get<std::string>();
}
}  // namespace

std::string rollout_json(const FinishedRollout& finished, PolicyVersion version) {
  nlohmann::json calls = nlohmann::json::array();
  for (const auto& call : finished.calls) calls.push_back(call_json(call));
  const nlohmann::json line = {
      {"version", version.value},
      {"rollout", finished.spec.id.value},
      {"repeat", finished.spec.sibling},
      {"task", parse_json(finished.spec.task_json)},
      {"reward", finished.reward ? nlohmann::json(*finished.reward) : nlohmann::json()},
      {"note", finished.reward_note},
      {"outcome", to_string(finished.outcome)},
      {"seconds", finished.seconds},
      {"calls", calls}};
  return json_text(line);
}

std::string to_text(const EvaluationResult& result) {
  std::string text = cat("held-out reward ", fixed(result.all.mean(), 3), " over ", result.all.count, " rollouts");
  if (result.num_failed > 0) text += cat(" (", result.num_failed, " failed)");
  for (const auto& [kind, score] : result.by_kind) text += cat("  ", kind, " ", fixed(score.mean(), 2));
  return text;
}

Evaluation::Evaluation(const rollouts::Tasks& tasks, std::uint32_t repeats, std::string folder, OpenRollout open)
    : tasks_(tasks), repeats_(repeats), folder_(std::move(folder)), open_(std::move(open)) {}

void Evaluation::start(PolicyVersion version, std::function<void(EvaluationResult)> done) {
  CORISCO_ASSERT(!is_running(), cat("evaluation at ", version, " while another runs"));
  done_ = std::move(done);
  result_ = {};
  result_.version = version;
  started_ = real_clock().unix_seconds();
  lines_.assign(tasks_.size() * repeats_, "");
  for (std::size_t index = 0; index < lines_.size(); ++index) {
    const auto& task = tasks_.all()[index / repeats_];
    auto opened = open_(task, index / repeats_, static_cast<std::uint32_t>(index % repeats_));
    if (opened.ok()) {
      waiting_[opened.value()] = index;
    } else {
      log::warn(cat("held-out task ", task.id, " was not run: ", opened.error().message));
      ++result_.num_failed;
    }
  }
  if (waiting_.empty()) finish();
}

bool Evaluation::take(const FinishedRollout& finished) {
  const auto found = waiting_.find(finished.spec.id);
  if (found == waiting_.end()) return false;
  lines_[found->second] = rollout_json(finished, result_.version);
  waiting_.erase(found);
  if (is_trained(finished.outcome) && finished.reward) {
    const auto add = [&](Score& score) {
      score.sum += *finished.reward;
      ++score.count;
    };
    add(result_.all);
    if (const auto kind = kind_of(finished.spec.task_json); !kind.empty()) add(result_.by_kind[kind]);
  } else {
    ++result_.num_failed;
  }
  if (waiting_.empty()) finish();
  return true;
}

void Evaluation::finish() {
  result_.seconds = real_clock().unix_seconds() - started_;
  result_.file = cat(folder_, "/evaluation-", result_.version, ".jsonl");
  std::string content;
  for (const auto& line : lines_)
    if (!line.empty()) content += line + "\n";
  if (auto wrote = files::write_atomically(result_.file, content, 0600); !wrote.ok())
    log::warn(wrote.error().message);
  auto done = std::exchange(done_, nullptr);
  done(result_);
}
}  // namespace corisco::app
