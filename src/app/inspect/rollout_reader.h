// A journal's records put through the store that they once came from, over all lives of the daemon: whole
// groups come out as the trainer got them, validation rollouts as the evaluation did, and every call that
// neither has comes out with the reason. Pure; one owner.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "corisco/samples/journal.h"
#include "corisco/samples/store.h"

namespace corisco::app {
struct RolloutReaderPorts {
  std::function<void(std::unique_ptr<Group>)> on_group;
  std::function<void(FinishedRollout)> on_evaluated;
  // Of a group of which other rollouts never finished.
  std::function<void(FinishedRollout)> on_alone = [](const FinishedRollout&) {};
  // The daemon's own stop ended it, which says nothing about it: it is run again.
  std::function<void(const FinishedRollout&)> on_stopped = [](const FinishedRollout&) {};
  // unscoped: outside any rollout. refused: its rollout or attempt was over. attempt_repeated: its attempt
  // failed and was made again. daemon_stopped, daemon_died: with its attempt under way.
  std::function<void(const Call&, const char* reason)> on_dropped = [](const Call&, const char*) {};
  // A call whose prompt and reply were removed for their age; its rollout comes out without it.
  std::function<void(const samples::CallRecorded&)> on_removed = [](const samples::CallRecorded&) {};
  // A record that the store did not take, which a sound journal does not have.
  std::function<void(std::string)> on_problem = [](const std::string&) {};
};

class RolloutReader {
 public:
  explicit RolloutReader(RolloutReaderPorts ports);
  void add(const samples::Record& record);
  // What is open at the end: calls of rollouts with this reason, and the finished siblings.
  void drop_open(const char* reason);

 private:
  void take(const samples::GroupOpened& record);
  void take(const samples::RolloutOpened& record);
  void take(const samples::AttemptStarted& record);
  void take(const samples::CallRecorded& record);
  void take(const samples::CallDelivered& record);
  void take(const samples::RolloutFinished& record);
  void take(const samples::UpdatePublished&) {}
  void take(const samples::RunResumed&);
  void drop_running(const char* reason);
  void drop_calls(AttemptKey attempt, const char* reason);
  void check(const Result<void>& taken);

  const RolloutReaderPorts ports_;
  std::unique_ptr<samples::Store> store_;
  std::map<RolloutId, std::uint32_t> open_;    // -> running attempt; 0: none
  std::set<GroupId> open_groups_;
};
}  // namespace corisco::app
