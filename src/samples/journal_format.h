// The framing of journal.bin, format 2 (described in corisco/samples/journal.h): pure functions
// over bytes, shared by the writer, the reader and the tests.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "corisco/base/result.h"
#include "corisco/samples/journal.h"

namespace corisco::samples {
inline constexpr std::uint32_t kJournalFormat = 2;
inline constexpr std::size_t kRecordHeadBytes = 21;
inline constexpr const char* kJournalName = "journal.bin";
inline constexpr const char* kAsideEnding = ".new";  // of a file that will replace it
// What a refusal for damage says to do.
std::string repair_hint(const std::string& folder);

std::string journal_head(const std::string& run_id);
std::string framed(std::uint8_t type, RecordStamp stamp, std::string_view payload);

// The head of a journal. length 0: the bytes are a beginning of a head, torn while it was made.
struct JournalHead {
  std::string run_id;
  std::size_t length = 0;
};
// The error says that it is no journal, of another format, or damaged.
Result<JournalHead> read_head(std::string_view bytes);

struct Frame {
  std::uint8_t type = 0;
  RecordStamp stamp;
  std::string_view payload;
  std::string_view bytes;  // with its head
};
// Frames from offset begin on, in order; for_each returns an error to stop.
// A bad frame that no good one follows is a torn tail, and its offset is the end; otherwise the
// error names the offset of the damage.
struct Frames {
  std::size_t end = 0;  // after the last good frame
  std::uint64_t last_sequence = 0;
};
Result<Frames> read_frames(std::string_view bytes, std::size_t begin,
                           const std::function<Result<void>(const Frame&)>& for_each);

// For a repair: the first good frame from the offset on with a sequence behind `sequence`. Any eight bytes
// that could be such a sequence are tried, so it costs a look at every byte.
struct FoundFrame {
  std::size_t offset = 0;
  Frame frame;
};
std::optional<FoundFrame> find_frame(std::string_view bytes, std::size_t offset, std::uint64_t sequence);
}  // namespace corisco::samples
