#include "samples/journal_format.h"

#include <limits>

#include "corisco/base/crc32c.h"
#include "corisco/base/strings.h"
#include "samples/little_endian.h"

namespace corisco::samples {
namespace {
constexpr std::string_view kMagic = "CORISCOJ";
constexpr std::size_t kHeadFixedBytes = 16;  // magic, format, length of the run id
constexpr std::size_t kSumBytes = 4;
constexpr std::size_t kRunIdBytesMax = 4096;

std::uint32_t sum_of(std::string_view length, std::string_view type_to_payload) {
  return crc32c(type_to_payload, crc32c(length));
}

// A good frame at the offset, if there is one.
std::optional<Frame> frame_at(std::string_view bytes, std::size_t offset) {
  const std::string_view rest = bytes.substr(offset);
  if (rest.size() < kRecordHeadBytes) return std::nullopt;
  const std::size_t payload_bytes = get_little_endian<std::uint32_t>(rest);
  if (payload_bytes > rest.size() - kRecordHeadBytes) return std::nullopt;
  Frame frame;
  frame.bytes = rest.substr(0, kRecordHeadBytes + payload_bytes);
  const auto sum = get_little_endian<std::uint32_t>(rest.substr(4));
  if (sum != sum_of(rest.substr(0, 4), frame.bytes.substr(8))) return std::nullopt;
  frame.type = static_cast<std::uint8_t>(rest[8]);
  frame.stamp.sequence = get_little_endian<std::uint64_t>(rest.substr(9));
  frame.stamp.written_unix_seconds = get_little_endian<std::uint32_t>(rest.substr(17));
  frame.payload = frame.bytes.substr(kRecordHeadBytes);
  return frame;
}

// Whether a good frame of a later sequence begins anywhere behind the offset. The sequence is looked
// at first, so that a checksum is computed only where one is likely.
bool is_followed(std::string_view bytes, std::size_t offset, std::uint64_t sequence) {
  for (std::size_t at = offset + 1; at + kRecordHeadBytes <= bytes.size(); ++at) {
    const auto found = get_little_endian<std::uint64_t>(bytes.substr(at + 9));
    const std::uint64_t possible = sequence + (at - offset) / kRecordHeadBytes + 1;
    if (found > sequence && found <= possible && frame_at(bytes, at)) return true;
  }
  return false;
}
}  // namespace

std::string repair_hint(const std::string& folder) {
  return cat("; \"corisco repair ", folder, "\" keeps what can be read");
}

std::string journal_head(const std::string& run_id) {
  std::string head(kMagic);
  put_little_endian(head, kJournalFormat);
  put_little_endian(head, static_cast<std::uint32_t>(run_id.size()));
  head += run_id;
  put_little_endian(head, crc32c(head));
  return head;
}

std::string framed(std::uint8_t type, RecordStamp stamp, std::string_view payload) {
  std::string body;
  body.reserve(kRecordHeadBytes + payload.size());
  put_little_endian(body, type);
  put_little_endian(body, stamp.sequence);
  put_little_endian(body, stamp.written_unix_seconds);
  body += payload;
  std::string frame;
  frame.reserve(kRecordHeadBytes + payload.size());
  put_little_endian(frame, static_cast<std::uint32_t>(payload.size()));
  put_little_endian(frame, sum_of(frame, body));
  frame += body;
  return frame;
}

Result<JournalHead> read_head(std::string_view bytes) {
  const auto magic = bytes.substr(0, kMagic.size());
  if (magic != kMagic.substr(0, magic.size())) return Error{Code::invalid_argument, "not a journal"};
  if (bytes.size() < kHeadFixedBytes) return JournalHead{};
  const auto format = get_little_endian<std::uint32_t>(bytes.substr(8));
  if (format != kJournalFormat) {
    return Error{Code::invalid_argument,
                 cat("format ", format, "; this daemon reads format ", kJournalFormat, " and migrates none")};
  }
  const std::size_t run_id_bytes = get_little_endian<std::uint32_t>(bytes.substr(12));
  if (run_id_bytes > kRunIdBytesMax) return Error{Code::invalid_argument, "damaged at offset 12"};
  const std::size_t summed = kHeadFixedBytes + run_id_bytes;
  if (bytes.size() < summed + kSumBytes) {
    if (is_followed(bytes, 0, 0)) return Error{Code::invalid_argument, "damaged at offset 12"};
    return JournalHead{};
  }
  if (get_little_endian<std::uint32_t>(bytes.substr(summed)) != crc32c(bytes.substr(0, summed))) {
    return Error{Code::invalid_argument, "damaged in its head; \"corisco repair\" keeps what can be read"};
  }
  return JournalHead{std::string(bytes.substr(kHeadFixedBytes, run_id_bytes)), summed + kSumBytes};
}

Result<Frames> read_frames(std::string_view bytes, std::size_t begin,
                           const std::function<Result<void>(const Frame&)>& for_each) {
  Frames read{begin, 0};
  while (read.end < bytes.size()) {
    const auto frame = frame_at(bytes, read.end);
    const bool is_next = frame && frame->stamp.sequence == read.last_sequence + 1;
    if (!is_next) {
      if (!frame && !is_followed(bytes, read.end, read.last_sequence)) return read;
      return Error{Code::invalid_argument,
                   cat("damaged at offset ", read.end, ", after record ", read.last_sequence)};
    }
    if (auto taken = for_each(*frame); !taken.ok()) {
      return Error{taken.error().code,
                   cat("record ", frame->stamp.sequence, " at offset ", read.end, ": ", taken.error().message)};
    }
    read.end += frame->bytes.size();
    read.last_sequence = frame->stamp.sequence;
  }
  return read;
}

std::optional<FoundFrame> find_frame(std::string_view bytes, std::size_t offset, std::uint64_t sequence) {
  // A file of more records than this is not thought of; it keeps the checksums that are tried few.
  constexpr std::uint64_t kSequenceMax = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t at = offset; at + kRecordHeadBytes <= bytes.size(); ++at) {
    const auto found = get_little_endian<std::uint64_t>(bytes.substr(at + 9));
    if (found <= sequence || found > kSequenceMax) continue;
    if (auto frame = frame_at(bytes, at)) return FoundFrame{at, *frame};
  }
  return std::nullopt;
}
}  // namespace corisco::samples
