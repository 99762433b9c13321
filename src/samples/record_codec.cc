#include "samples/record_codec.h"

#include <array>
#include <type_traits>

#include "corisco/base/strings.h"
#include "samples/payload_reader.h"
#include "samples/payload_writer.h"

namespace corisco::samples {
// --- The fields of each record, in their order on disk. Found by the archives through their namespace.
template <class Archive>
void fields_of(Archive& a, AttemptKey& key) {
  a(key.rollout), a(key.attempt);
}
template <class Archive>
void fields_of(Archive& a, Call& call) {
  a(call.id), a(call.attempt), a(call.turn), a(call.choice), a(call.base);
  if (call.base) a(call.base_tokens), a(call.base_request_bytes);
  a.rest(call.prompt_ids, call.base ? call.base_tokens : 0);
  a(call.tokens);
  a.enumerator(call.finish, FinishReason::aborted);
  a(call.temperature), a(call.is_delivered), a(call.is_trainable);
  a.enumerator(call.state, CallState::several_models);
  a.enumerator(call.split, SplitCause::temperature_changed);
  a.rest(call.request_json, call.base ? call.base_request_bytes : 0);
  a(call.reply_text), a(call.started_unix_seconds), a(call.parse_errors);
}
template <class Archive>
void fields_of(Archive& a, RolloutSpec& spec) {
  a(spec.id), a(spec.group), a(spec.task_occurrence), a(spec.sibling);
  a.enumerator(spec.mode, Mode::val);
  a(spec.task_id), a(spec.task_json);
}
template <class Archive>
void fields_of(Archive& a, FinishedRollout& rollout) {
  a(rollout.spec), a(rollout.attempt);
  a.enumerator(rollout.outcome, Outcome::cancelled);
  a(rollout.reward), a(rollout.reward_note), a(rollout.seconds);
}
template <class Archive>
void fields_of(Archive& a, GroupOpened& record) {
  a(record.group), a(record.task_occurrence), a(record.num_siblings), a(record.policy_version);
}
template <class Archive>
void fields_of(Archive& a, RolloutOpened& record) {
  a(record.spec);
}
template <class Archive>
void fields_of(Archive& a, AttemptStarted& record) {
  a(record.attempt), a(record.salt);
}
template <class Archive>
void fields_of(Archive& a, CallRecorded& record) {
  a(record.call), a(record.removed_prompt_tokens), a(record.removed_tokens);
  a.appendix(record.call.routed_experts, record.base_experts);
}
template <class Archive>
void fields_of(Archive& a, CallDelivered& record) {
  a(record.call), a(record.attempt), a(record.is_delivered);
  a.enumerator(record.state, CallState::several_models);
}
template <class Archive>
void fields_of(Archive& a, RolloutFinished& record) {
  a(record.rollout);
}
template <class Archive>
void fields_of(Archive& a, UpdatePublished& record) {
  a(record.policy_version), a(record.groups), a(record.checkpoint), a(record.was_skipped);
  a(record.weights_checksum);
}
template <class Archive>
void fields_of(Archive& a, RunResumed& record) {
  a(record.policy_version);
}

namespace {
constexpr std::array<const char*, std::variant_size_v<Record>> kNames = {
    "GroupOpened", "RolloutOpened", "AttemptStarted", "CallRecorded",
    "CallDelivered", "RolloutFinished", "UpdatePublished", "RunResumed"};

template <std::size_t kIndex = 0>
Result<Record> decode_as(std::size_t index, std::string_view payload) {
  if constexpr (kIndex == std::variant_size_v<Record>) {
    return Error{Code::invalid_argument, cat("a record of unknown type ", index + 1, ", of a newer daemon")};
  } else {
    if (index != kIndex) return decode_as<kIndex + 1>(index, payload);
    std::variant_alternative_t<kIndex, Record> record;
    PayloadReader reader(payload);
    reader(record);
    if (auto trouble = reader.finish(); !trouble.empty()) {
      return Error{Code::invalid_argument,
                   cat("a ", kNames[kIndex], " of a form that this daemon does not know: ", trouble)};
    }
    return Record(std::move(record));
  }
}
}  // namespace

std::uint8_t type_of(const Record& record) { return static_cast<std::uint8_t>(record.index() + 1); }

std::string encode(const Record& record) {
  PayloadWriter writer;
  // fields_of() takes its structs unconst, for both directions; the writer leaves them alone.
  std::visit([&](const auto& one) { writer(const_cast<std::remove_cvref_t<decltype(one)>&>(one)); }, record);
  return writer.take();
}

Result<Record> decode(std::uint8_t type, std::string_view payload) {
  return decode_as(static_cast<std::size_t>(type) - 1, payload);
}

std::size_t encoded_bytes(const Record& record) {
  constexpr std::size_t kFixed = 128;
  if (const auto* recorded = std::get_if<CallRecorded>(&record)) {
    const Call& call = recorded->call;
    std::size_t error_bytes = 0;
    for (const auto& error : call.parse_errors) error_bytes += 4 + error.size();
    const auto own = [&](std::size_t all, std::size_t shared) {
      return call.base && shared < all ? all - shared : all;
    };
    return kFixed + 4 * own(call.prompt_ids.size(), call.base_tokens) + 20 * call.tokens.size() +
           own(call.request_json.size(), call.base_request_bytes) + call.reply_text.size() + error_bytes +
           2 * own(call.routed_experts.size(), call.routed_experts.size() - call.routed_experts.num_own());
  }
  if (const auto* opened = std::get_if<RolloutOpened>(&record)) return kFixed + opened->spec.task_json.size();
  if (const auto* finished = std::get_if<RolloutFinished>(&record)) {
    return kFixed + finished->rollout.spec.task_json.size() + finished->rollout.reward_note.size();
  }
  if (const auto* update = std::get_if<UpdatePublished>(&record)) return kFixed + 8 * update->groups.size();
  return kFixed;
}
}  // namespace corisco::samples
