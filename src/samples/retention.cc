#include "samples/retention.h"

#include <utility>
#include <vector>

#include "corisco/base/strings.h"
#include "samples/journal_format.h"
#include "samples/mapped_file.h"
#include "samples/record_codec.h"

namespace corisco::samples {
namespace {
bool remove_from(RolloutSpec& spec) { return !std::exchange(spec.task_json, {}).empty(); }

bool remove_from(CallRecorded& recorded) {
  Call& call = recorded.call;
  const bool has_text = !call.request_json.empty() || !call.reply_text.empty() || !call.parse_errors.empty();
  if (!call.base && call.prompt_ids.empty() && call.tokens.empty() && !has_text) return false;
  const auto shared = call.base ? call.base_tokens : 0;
  recorded.removed_prompt_tokens = shared + static_cast<std::uint32_t>(call.prompt_ids.size());
  recorded.removed_tokens = static_cast<std::uint32_t>(call.tokens.size());
  call.prompt_ids = {};
  call.request_json = {};
  call.tokens.clear();
  call.reply_text.clear();
  call.parse_errors.clear();
  call.routed_experts = {};
  recorded.base_experts = 0;
  call.base = {};
  call.base_tokens = call.base_request_bytes = 0;
  return true;
}

Result<void> check_stop(const std::stop_token& stop) {
  if (!stop.stop_requested()) return {};
  return Error{Code::cancelled, "the journal closes: what is old stays until the next time"};
}

// Sequences of the records that are to lose something.
Result<std::vector<std::uint64_t>> find_old(std::string_view bytes, std::size_t begin, const Retention& retention,
                                            const std::stop_token& stop) {
  OldContent old(retention);
  const auto read = [&](const std::function<void(Record&, RecordStamp)>& take) {
    return read_frames(bytes, begin, [&](const Frame& frame) -> Result<void> {
      CORISCO_CHECK(check_stop(stop));
      CORISCO_TRY(Record record, decode(frame.type, frame.payload));
      take(record, frame.stamp);
      return {};
    });
  };
  std::vector<std::uint64_t> found;
  CORISCO_TRY(const Frames first, read([&](const Record& record, RecordStamp stamp) { old.add(record, stamp); }));
  old.end_of_records();
  CORISCO_TRY(const Frames second, read([&](Record& record, RecordStamp stamp) {
                if (old.may_go(record, stamp) && remove_content(record)) found.push_back(stamp.sequence);
              }));
  CORISCO_ASSERT(first.end == second.end, std::string("the journal changed between two readings"));
  return found;
}

Result<void> write_without(std::string_view bytes, std::size_t begin, const std::vector<std::uint64_t>& old,
                           const std::stop_token& stop, AsideFile& file) {
  auto next = old.begin();
  CORISCO_CHECK(file.write(bytes.substr(0, begin)));
  CORISCO_TRY(const Frames written, read_frames(bytes, begin, [&](const Frame& frame) -> Result<void> {
                CORISCO_CHECK(check_stop(stop));
                if (next == old.end() || *next != frame.stamp.sequence) return file.write(frame.bytes);
                ++next;
                CORISCO_TRY(Record record, decode(frame.type, frame.payload));
                remove_content(record);
                return file.write(framed(frame.type, frame.stamp, encode(record)));
              }));
  CORISCO_ASSERT(written.end == bytes.size(), std::string("a torn journal was to be rewritten"));
  return file.sync();
}
}  // namespace

bool remove_content(Record& record) {
  if (auto* recorded = std::get_if<CallRecorded>(&record)) return remove_from(*recorded);
  if (auto* opened = std::get_if<RolloutOpened>(&record)) return remove_from(opened->spec);
  if (auto* finished = std::get_if<RolloutFinished>(&record)) {
    const bool had_note = !std::exchange(finished->rollout.reward_note, {}).empty();
    return remove_from(finished->rollout.spec) || had_note;
  }
  return false;
}

void OldContent::add(const Record& record, RecordStamp stamp) {
  survey_.add(record);
  if (std::holds_alternative<RunResumed>(record)) last_resume_ = stamp.sequence;
  if (const auto* recorded = std::get_if<CallRecorded>(&record)) last_calls_[recorded->call.attempt] = stamp;
}

void OldContent::end_of_records() { consumed_ = survey_.consumed_by(retention_.oldest_checkpoint); }

bool OldContent::may_go(const Record& record, RecordStamp stamp) const {
  if (!is_old(stamp)) return false;
  if (const auto* opened = std::get_if<RolloutOpened>(&record)) return is_settled(opened->spec.id);
  if (const auto* finished = std::get_if<RolloutFinished>(&record)) return is_settled(finished->rollout.spec.id);
  const auto* recorded = std::get_if<CallRecorded>(&record);
  if (recorded == nullptr) return false;
  const AttemptKey attempt = recorded->call.attempt;
  if (!attempt.rollout) return true;     // outside any rollout: served, never trained, never gone on from
  const RecordStamp last_call = last_calls_.at(attempt);
  return is_old(last_call) && is_over(attempt, last_call);
}

// No recovery takes its calls, and none can be added.
bool OldContent::is_over(AttemptKey attempt, RecordStamp last_call) const {
  const auto found = survey_.rollouts.find(attempt.rollout);
  if (found == survey_.rollouts.end()) return false;
  const auto& rollout = found->second;
  if (attempt.attempt < rollout.attempt) return true;
  return rollout.is_finished ? is_settled(attempt.rollout) : last_call.sequence < last_resume_;
}

// It will be neither trained nor run again.
bool OldContent::is_settled(RolloutId id) const {
  const auto found = survey_.rollouts.find(id);
  if (found == survey_.rollouts.end()) return false;
  const auto& rollout = found->second;
  if (!rollout.group) return rollout.is_finished;
  const auto group = survey_.groups.find(rollout.group);
  return consumed_.contains(rollout.group) || (group != survey_.groups.end() && group->second.is_superseded);
}

Result<std::optional<Rewritten>> rewrite_without_old(const std::string& path, std::uint64_t end,
                                                     const Retention& retention, const std::stop_token& stop) {
  CORISCO_TRY(const MappedFile mapped, MappedFile::open(path));
  const auto bytes = mapped.bytes().substr(0, end);
  CORISCO_TRY(const JournalHead head, read_head(bytes));
  CORISCO_TRY(const auto old, find_old(bytes, head.length, retention, stop));
  if (old.empty()) return std::optional<Rewritten>{};
  CORISCO_TRY(AsideFile file, AsideFile::create(cat(path, kAsideEnding)));
  CORISCO_CHECK(write_without(bytes, head.length, old, stop, file));
  const Removed removed{old.size(), end - file.size()};
  return std::optional<Rewritten>(Rewritten{std::move(file), end, removed});
}
}  // namespace corisco::samples
