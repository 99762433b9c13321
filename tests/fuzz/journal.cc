// A journal of any bytes: opened, or refused with its reason; a torn tail is cut and nothing else is;
// what opens can be read, recovered from, and goes on; what is repaired can be read; old content goes
// without harm. Records of any payload code as they decode.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>

#include "corisco/base/log.h"
#include "corisco/samples/recovery.h"
#include "corisco/samples/repair.h"
#include "fuzz/fuzz.h"
#include "samples/journal_format.h"
#include "samples/record_codec.h"
#include "support/temporary_folder.h"

namespace corisco::samples {
namespace {
using fuzz::require;
constexpr const char* kRun = "run";

// What so many items that others hold, and these after them, are together.
template <class T>
void put_in_front(SharedPrefix<T>& items, std::uint64_t num_others) {
  const SharedPrefix<T> others(typename SharedPrefix<T>::Items(num_others, T{1}));
  items = SharedPrefix<T>::extend(others, num_others, items.items());
}

// One form for each record. A call with a base is coded as what follows it: something that long is put in front.
void check_codes_again(std::uint8_t type, std::string_view payload, Record record) {
  if (auto* recorded = std::get_if<CallRecorded>(&record)) {
    Call& call = recorded->call;
    if (std::max<std::uint64_t>({call.base_tokens, call.base_request_bytes, recorded->base_experts}) > 100000) return;
    if (call.base) {
      put_in_front(call.prompt_ids, call.base_tokens);
      put_in_front(call.request_json, call.base_request_bytes);
    }
    put_in_front(call.routed_experts, recorded->base_experts);
  }
  require(type_of(record) == type && encode(record) == payload, "codes otherwise");
}

// Frames of [type, payload's length, payload] each, with good checksums.
std::string framed_records(std::string_view bytes) {
  std::string file = journal_head(kRun);
  for (std::uint64_t sequence = 1; bytes.size() >= 2; ++sequence) {
    const auto type = static_cast<std::uint8_t>(bytes[0]);
    const auto payload = bytes.substr(2, static_cast<unsigned char>(bytes[1]));
    file += framed(type, {sequence, 1000}, payload);
    bytes.remove_prefix(2 + payload.size());
    const auto record = decode(type, payload);
    if (record.ok()) check_codes_again(type, payload, record.value());
    else require(!record.error().message.empty(), "a refusal without words");
  }
  return file;
}

std::string file_of(fuzz::Input input) {
  const auto mode = input.below(3);
  const auto cut = input.byte();
  if (mode == 0) return std::string(input.rest(4096));
  auto file = framed_records(input.rest(4096));
  if (mode == 2) file.resize(file.size() - std::min<std::size_t>(file.size(), cut));   // torn
  return file;
}

// None: a record with a good checksum is of no kind that this daemon knows.
std::optional<std::uint64_t> count_records(const std::string& folder) {
  std::uint64_t num_records = 0;
  const auto report = read_journal(folder, [&](const Record&) { ++num_records; });
  if (!report.ok()) {
    require(report.error().message.find(": record ") != std::string::npos, "open, but: ", report.error().message);
    return std::nullopt;
  }
  require(report.value().num_records == num_records && report.value().torn_bytes == 0, "a torn tail that was not cut");
  return num_records;
}

// What is left can be read. A repair that refuses leaves the file alone, and opening may refuse it as well.
void check_repair(const std::string& folder) {
  const auto report = repair_journal(folder);
  if (!report.ok()) return require(!report.error().message.empty(), "a refusal without words");
  if (!report.value().damaged_file.empty()) {
    const auto num_records = count_records(folder);
    require(num_records && *num_records == report.value().num_kept, "repaired, but not as it says");
    std::filesystem::remove(report.value().damaged_file);
  }
  require(repair_journal(folder).value().damaged_file.empty(), "repaired twice");
}

void check_retention(Journal& journal, const std::string& folder, std::uint64_t num_records) {
  std::promise<Result<Removed>> removed;
  journal.remove_old({2000, PolicyVersion{1}}, [&](Result<Removed> result) { removed.set_value(std::move(result)); });
  const auto result = removed.get_future().get();
  require(result.ok(), "old content stays: ", result.ok() ? "" : result.error().message);
  require(count_records(folder) == num_records, "records lost with their content");
}

void check(const std::string& folder, const std::string& file) {
  const auto path = cat(folder, "/", kJournalName);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << file;
  {
    const auto journal = Journal::open(folder, kRun);
    if (!journal.ok()) {
      require(!journal.error().message.empty(), "a refusal without words");
      return check_repair(folder);
    }
    require(journal.value()->torn_bytes() <= file.size(), "more torn than there was");
  }
  const auto num_records = count_records(folder);
  const auto recovered = recover(folder, PolicyVersion{0});
  require(recovered.ok() || !recovered.error().message.empty(), "a recovery that says nothing");
  const auto journal = Journal::open(folder, kRun);
  require(journal.ok() && journal.value()->torn_bytes() == 0, "does not open again");
  if (!num_records) return;
  check_retention(*journal.value(), folder, *num_records);
  journal.value()->append(RunResumed{}, {});
  require(journal.value()->flush().ok() && count_records(folder) == *num_records + 1, "does not go on");
}
}  // namespace
}  // namespace corisco::samples

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const corisco::support::TemporaryFolder folder;
  corisco::log::set_level(corisco::log::Level::error);
  corisco::samples::check(folder.path(), corisco::samples::file_of({data, size}));
  return 0;
}
