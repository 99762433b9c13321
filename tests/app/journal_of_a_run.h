// A run's journal in short words, for tests that read one back.
#pragma once
#include <string>
#include <vector>

#include "corisco/samples/journal.h"
#include "corisco/samples/recovery.h"

namespace corisco::app {
struct JournalOfARun {
  std::vector<samples::Record> records;

  void group(std::uint64_t id, std::uint64_t occurrence, std::uint32_t siblings, std::uint64_t version = 0) {
    records.push_back(samples::GroupOpened{GroupId{id}, occurrence, siblings, PolicyVersion{version}});
  }
  void rollout(std::uint64_t id, std::uint64_t group_id, std::uint64_t occurrence, std::uint32_t sibling,
               Mode mode = Mode::train) {
    const auto task = "task-" + std::to_string(occurrence);
    const RolloutSpec spec{RolloutId{id}, GroupId{group_id}, occurrence, sibling, mode, task, "{}"};
    records.push_back(samples::RolloutOpened{spec});
    attempt(id, 1);
  }
  void attempt(std::uint64_t id, std::uint32_t number) {
    records.push_back(samples::AttemptStarted{{RolloutId{id}, number}, 0});
  }
  // Log-probabilities are -1, -2, ... of each reply.
  Call& call(std::uint64_t id, AttemptKey key, std::uint32_t turn, std::vector<TokenId> prompt,
             const std::vector<TokenId>& reply) {
    Call made;
    made.id = CallId{id};
    made.attempt = key;
    made.turn = turn;
    made.prompt_ids = std::move(prompt);
    for (const auto token : reply) {
      const auto logprob = -1.0F - static_cast<float>(made.tokens.size());
      made.tokens.push_back({token, logprob, logprob, PolicyVersion{0}});
    }
    made.request_json = "[]";
    records.push_back(samples::CallRecorded{made, 0, 0});
    return std::get<samples::CallRecorded>(records.back()).call;
  }
  void delivered(std::uint64_t id, AttemptKey key, bool is_delivered = true, CallState state = CallState::used) {
    records.push_back(samples::CallDelivered{CallId{id}, key, is_delivered, state});
  }
  void end(std::uint64_t id, std::uint32_t number, std::optional<double> reward,
           Outcome outcome = Outcome::completed) {
    FinishedRollout finished;
    finished.spec.id = RolloutId{id};
    finished.attempt = number;
    finished.outcome = outcome;
    finished.reward = reward;
    records.push_back(samples::RolloutFinished{finished});
  }
  void update(std::uint64_t version, std::vector<GroupId> groups, std::uint64_t checksum, bool was_skipped = false) {
    records.push_back(samples::UpdatePublished{PolicyVersion{version}, std::move(groups), "", was_skipped, checksum});
  }
  void checkpoint(std::uint64_t version, const std::string& folder) {
    records.push_back(samples::UpdatePublished{PolicyVersion{version}, {}, folder, false, 0});
  }
  void resumed(std::uint64_t version) { records.push_back(samples::RunResumed{PolicyVersion{version}}); }

  samples::RecordSource source() const {
    return [this](const std::function<void(const samples::Record&)>& for_each) -> Result<samples::ReadReport> {
      for (const auto& record : records) for_each(record);
      return samples::ReadReport{"test", records.size(), 0};
    };
  }
};
}  // namespace corisco::app
