#include "samples/record_codec.h"

#include <bit>
#include <concepts>
#include <optional>
#include <type_traits>

#include "corisco/base/strings.h"
#include "samples/little_endian.h"

namespace corisco::samples {
namespace {
// --- The fields of each record, in their order on disk.
template <class Archive>
void fields_of(Archive& a, AttemptKey& key) {
  a(key.rollout), a(key.attempt);
}
template <class Archive>
void fields_of(Archive& a, SampledToken& token) {
  a(token.id), a(token.sampled_logprob), a(token.drawn_logprob), a(token.policy_version);
}
template <class Archive>
void fields_of(Archive& a, Call& call) {
  a(call.id), a(call.attempt), a(call.turn), a(call.choice), a(call.prompt_ids), a(call.tokens);
  a.enumerator(call.finish, FinishReason::aborted);
  a(call.temperature), a(call.is_delivered), a(call.is_trainable), a(call.request_json), a(call.reply_text);
  a(call.started_unix_seconds);
  a.trailing(call.parse_errors);
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
  a(record.call);
}
template <class Archive>
void fields_of(Archive& a, CallDelivered& record) {
  a(record.call), a(record.attempt), a(record.is_delivered);
}
template <class Archive>
void fields_of(Archive& a, RolloutFinished& record) {
  a(record.rollout);
}
template <class Archive>
void fields_of(Archive& a, UpdatePublished& record) {
  a(record.policy_version), a(record.groups), a(record.checkpoint);
}
template <class Archive>
void fields_of(Archive& a, RunResumed& record) {
  a(record.policy_version);
}

// --- How a field of each kind is written.
class Writer {
 public:
  template <std::integral Whole>
  void operator()(Whole value) {
    put_little_endian(bytes_, static_cast<std::make_unsigned_t<Whole>>(value));
  }
  void operator()(bool value) { bytes_ += static_cast<char>(value); }
  void operator()(float value) { (*this)(std::bit_cast<std::uint32_t>(value)); }
  void operator()(double value) { (*this)(std::bit_cast<std::uint64_t>(value)); }
  template <class Tag>
  void operator()(Id<Tag> id) {
    (*this)(id.value);
  }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  template <class T>
  void operator()(std::vector<T>& items) {
    (*this)(static_cast<std::uint32_t>(items.size()));
    for (T& item : items) (*this)(item);
  }
  void operator()(std::optional<double>& value) {
    (*this)(value.has_value());
    (*this)(value.value_or(0));
  }
  // The payload's last field, which older journals lack; not written if empty.
  template <class T>
  void trailing(std::vector<T>& items) {
    if (!items.empty()) (*this)(items);
  }
  template <class Enum>
  void enumerator(Enum value, Enum /*last*/) {
    (*this)(static_cast<std::uint8_t>(value));
  }
  template <class Struct>
  requires requires(Writer& a, Struct& s) { fields_of(a, s); }
  void operator()(Struct& value) { fields_of(*this, value); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Never reads past the end, and never makes room for more items than bytes are left. After the
// first trouble every further field is left as it is.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <std::integral Whole>
  void operator()(Whole& value) {
    if (has(sizeof(Whole)))
      value = static_cast<Whole>(get_little_endian<std::make_unsigned_t<Whole>>(take(sizeof(Whole))));
  }
  void operator()(bool& value) {
    std::uint8_t byte = 0;
    (*this)(byte);
    if (byte > 1) trouble_ = cat("a flag of ", int{byte});
    value = byte == 1;
  }
  void operator()(float& value) {
    auto bits = std::bit_cast<std::uint32_t>(value);
    (*this)(bits);
    value = std::bit_cast<float>(bits);
  }
  void operator()(double& value) {
    auto bits = std::bit_cast<std::uint64_t>(value);
    (*this)(bits);
    value = std::bit_cast<double>(bits);
  }
  template <class Tag>
  void operator()(Id<Tag>& id) {
    (*this)(id.value);
  }
  void operator()(std::string& text) {
    std::uint32_t size = 0;
    (*this)(size);
    if (has(size)) text = take(size);
  }
  template <class T>
  void operator()(std::vector<T>& items) {
    std::uint32_t count = 0;
    (*this)(count);
    if (!has(count)) return;  // an item takes at least a byte
    for (std::uint32_t i = 0; i < count && trouble_.empty(); ++i) (*this)(items.emplace_back());
  }
  void operator()(std::optional<double>& value) {
    bool is_there = false;
    double number = 0;
    (*this)(is_there);
    (*this)(number);
    if (is_there) value = number;
  }
  template <class T>
  void trailing(std::vector<T>& items) {
    if (trouble_.empty() && !bytes_.empty()) (*this)(items);
  }
  template <class Enum>
  void enumerator(Enum& value, Enum last) {
    std::uint8_t byte = 0;
    (*this)(byte);
    if (byte > static_cast<std::uint8_t>(last)) trouble_ = cat("an unknown enumerator ", int{byte});
    value = static_cast<Enum>(byte);
  }
  template <class Struct>
  requires requires(Reader& a, Struct& s) { fields_of(a, s); }
  void operator()(Struct& value) { fields_of(*this, value); }
  std::string finish() {
    if (trouble_.empty() && !bytes_.empty()) trouble_ = cat(bytes_.size(), " bytes too many");
    return trouble_;
  }

 private:
  bool has(std::size_t count) {
    if (trouble_.empty() && count > bytes_.size()) trouble_ = cat(count - bytes_.size(), " bytes too few");
    return trouble_.empty();
  }
  std::string_view take(std::size_t count) {
    const auto taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::string_view bytes_;
  std::string trouble_;
};

template <std::size_t kIndex = 0>
Result<Record> decode_as(std::size_t index, std::string_view payload) {
  if constexpr (kIndex == std::variant_size_v<Record>) {
    return Error{Code::invalid_argument, cat("a record of unknown type ", index + 1)};
  } else {
    if (index != kIndex) return decode_as<kIndex + 1>(index, payload);
    std::variant_alternative_t<kIndex, Record> record;
    Reader reader(payload);
    reader(record);
    if (auto trouble = reader.finish(); !trouble.empty()) return Error{Code::invalid_argument, trouble};
    return Record(std::move(record));
  }
}
}  // namespace

std::uint8_t type_of(const Record& record) { return static_cast<std::uint8_t>(record.index() + 1); }

std::string encode(const Record& record) {
  Writer writer;
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
    return kFixed + 4 * call.prompt_ids.size() + 20 * call.tokens.size() + call.request_json.size() +
           call.reply_text.size() + error_bytes;
  }
  if (const auto* opened = std::get_if<RolloutOpened>(&record)) return kFixed + opened->spec.task_json.size();
  if (const auto* finished = std::get_if<RolloutFinished>(&record)) {
    return kFixed + finished->rollout.spec.task_json.size() + finished->rollout.reward_note.size();
  }
  if (const auto* update = std::get_if<UpdatePublished>(&record)) return kFixed + 8 * update->groups.size();
  return kFixed;
}
}  // namespace corisco::samples
