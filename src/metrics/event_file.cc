#include "metrics/event_file.h"

#include <unistd.h>

#include <bit>
#include <filesystem>

#include "corisco/base/crc32c.h"
#include "corisco/base/strings.h"

namespace corisco::metrics {
namespace {
// Field numbers of Event, Summary and Summary.Value in tensorboard's event.proto and summary.proto.
constexpr std::uint32_t kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5;
constexpr std::uint32_t kSummaryValue = 1;
constexpr std::uint32_t kValueTag = 1, kValueSimpleValue = 2;
// Protobuf wire types.
constexpr std::uint32_t kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5;

template <class Integer>
void put_fixed(std::string& out, Integer value) {
  for (std::size_t i = 0; i < sizeof(value); ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, std::uint32_t field, std::uint32_t wire_type) {
  put_varint(out, (field << 3) | wire_type);
}

void put_double(std::string& out, std::uint32_t field, double value) {
  put_key(out, field, kFixed64);
  put_fixed(out, std::bit_cast<std::uint64_t>(value));
}

void put_float(std::string& out, std::uint32_t field, float value) {
  put_key(out, field, kFixed32);
  put_fixed(out, std::bit_cast<std::uint32_t>(value));
}

void put_bytes(std::string& out, std::uint32_t field, const std::string& bytes) {
  put_key(out, field, kLengthDelimited);
  put_varint(out, bytes.size());
  out += bytes;
}

// The record format hides a checksum of data that may itself hold checksums.
std::uint32_t masked(std::uint32_t sum) { return ((sum >> 15) | (sum << 17)) + 0xa282ead8U; }
}  // namespace

std::string event_record(const std::string& payload) {
  std::string record;
  put_fixed(record, static_cast<std::uint64_t>(payload.size()));
  put_fixed(record, masked(crc32c(record)));
  record += payload;
  put_fixed(record, masked(crc32c(payload)));
  return record;
}

std::string version_event(double unix_seconds) {
  std::string event;
  put_double(event, kEventWallTime, unix_seconds);
  put_bytes(event, kEventFileVersion, "brain.Event:2");
  return event;
}

std::string scalar_event(double unix_seconds, std::uint64_t step, const Scalars& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    std::string one;
    put_bytes(one, kValueTag, tag);
    put_float(one, kValueSimpleValue, value);
    put_bytes(summary, kSummaryValue, one);
  }
  std::string event;
  put_double(event, kEventWallTime, unix_seconds);
  put_key(event, kEventStep, kVarint);
  put_varint(event, step);
  put_bytes(event, kEventSummary, summary);
  return event;
}

Result<EventFile> EventFile::create(const std::string& folder, double unix_seconds) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  // Readers take the files of a folder in the order of their names: time, then process.
  const std::string name =
      cat(folder, "/events.out.tfevents.", static_cast<std::uint64_t>(unix_seconds), ".corisco.", ::getpid());
  std::string path = name;
  for (int n = 2; std::filesystem::exists(path, failure); ++n) path = cat(name, ".", n);
  CORISCO_TRY(AppendedFile out, AppendedFile::open(path));
  CORISCO_CHECK(out.append(event_record(version_event(unix_seconds))));
  return EventFile(std::move(out));
}

Result<void> EventFile::add(double unix_seconds, std::uint64_t step, const Scalars& scalars) {
  return out_.append(event_record(scalar_event(unix_seconds, step, scalars)));
}
}  // namespace corisco::metrics
