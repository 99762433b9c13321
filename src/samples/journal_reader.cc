// Reading a journal back: frames are checked, payloads decoded, calls made whole.
#include "corisco/base/strings.h"
#include "corisco/samples/journal.h"
#include "samples/call_bases.h"
#include "samples/journal_format.h"
#include "samples/mapped_file.h"
#include "samples/record_codec.h"

namespace corisco::samples {
Result<ReadReport> read_journal(const std::string& folder,
                                const std::function<void(const Record&, RecordStamp)>& for_each) {
  const std::string path = cat(folder, "/", kJournalName);
  CORISCO_TRY(const MappedFile mapped, MappedFile::open(path));
  const auto bytes = mapped.bytes();
  const auto refused = [&](const Error& error, const std::string& remedy = "") {
    return Error{error.code, cat(path, ": ", error.message, remedy)};
  };
  const auto head = read_head(bytes);
  if (!head.ok()) return refused(head.error());
  ReadReport report{head.value().run_id, 0, bytes.size()};
  if (head.value().length == 0) return report;
  CallBases bases;
  bool is_unknown = false;               // not damaged: no repair would help
  const auto frames = read_frames(bytes, head.value().length, [&](const Frame& frame) -> Result<void> {
    auto decoded = decode(frame.type, frame.payload);
    is_unknown = !decoded.ok();
    CORISCO_TRY(Record record, std::move(decoded));
    if (auto* recorded = std::get_if<CallRecorded>(&record)) CORISCO_CHECK(bases.make_whole(*recorded));
    bases.see(record);
    for_each(record, frame.stamp);
    return {};
  });
  if (!frames.ok()) return refused(frames.error(), is_unknown ? "" : repair_hint(folder));
  report.num_records = frames.value().last_sequence;
  report.torn_bytes = bytes.size() - frames.value().end;
  return report;
}

Result<ReadReport> read_journal(const std::string& folder, const std::function<void(const Record&)>& for_each) {
  return read_journal(folder, [&](const Record& record, RecordStamp) { for_each(record); });
}
}  // namespace corisco::samples
