// RunLog over one appended JSON-lines file and, if asked, an event file.
#include "corisco/metrics/run_log.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "corisco/base/clock.h"
#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "metrics/event_file.h"

namespace corisco::metrics {
namespace {
constexpr int kFormat = 1;
using Json = nlohmann::ordered_json;

std::string line_of(const Json& object) {
  // Strings come from configs and graders and need not be UTF-8.
  return json_text(object) + "\n";
}

Json json_of(const Value& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);  // non-finite dumps as null
}

std::optional<double> number_of(const Value& value) {
  if (const auto* real = std::get_if<double>(&value); real != nullptr && std::isfinite(*real)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::nullopt;
}

class FileRunLog final : public RunLog {
 public:
  FileRunLog(std::ofstream lines, std::optional<EventFile> events)
      : lines_(std::move(lines)), events_(std::move(events)) {}

  bool write_line(const Json& object) {
    const std::string line = line_of(object);
    lines_.write(line.data(), static_cast<std::streamsize>(line.size()));
    lines_.flush();
    return static_cast<bool>(lines_);
  }

  void write(std::string_view kind, std::uint64_t step, const Fields& fields) override {
    const double now = real_clock().unix_seconds();
    Json object{{"kind", kind}, {"step", step}, {"unix_seconds", now}};
    Scalars scalars;
    for (const auto& [name, value] : fields) {
      object[name] = json_of(value);
      if (const auto number = number_of(value)) {
        scalars.emplace_back(cat(kind, "/", name), static_cast<float>(*number));
      }
    }
    bool is_written = write_line(object);
    if (events_ && !scalars.empty()) is_written = events_->add(now, step, scalars) && is_written;
    if (!is_written && !has_warned_) {
      has_warned_ = true;
      log::error("metrics.jsonl or the event file takes no more lines: is the disk full?");
    }
  }

 private:
  std::ofstream lines_;
  std::optional<EventFile> events_;
  bool has_warned_ = false;
};

// What a kill left half written has no line end.
Result<void> cut_torn_line(const std::string& path) {
  CORISCO_TRY(const std::string content, files::read(path));
  if (content.empty() || content.back() == '\n') return {};
  const auto last_end = content.rfind('\n');
  std::error_code failure;
  std::filesystem::resize_file(path, last_end == std::string::npos ? 0 : last_end + 1, failure);
  if (failure) return Error{Code::unavailable, cat("could not shorten ", path, ": ", failure.message())};
  return {};
}
}  // namespace

Result<std::unique_ptr<RunLog>> RunLog::open(const std::string& folder, bool tensorboard) {
  const std::string path = cat(folder, "/metrics.jsonl");
  std::error_code failure;
  if (std::filesystem::exists(path, failure)) CORISCO_CHECK(cut_torn_line(path));
  std::ofstream lines(path, std::ios::binary | std::ios::app);
  if (!lines) return Error{Code::unavailable, cat("could not open ", path, ": ", std::strerror(errno))};
  const bool is_new = std::filesystem::file_size(path, failure) == 0;
  const double now = real_clock().unix_seconds();
  std::optional<EventFile> events;
  if (tensorboard) {
    CORISCO_TRY(events, EventFile::create(cat(folder, "/tensorboard"), now));
  }
  auto log = std::make_unique<FileRunLog>(std::move(lines), std::move(events));
  if (is_new && !log->write_line(Json{{"format", kFormat}, {"kind", "header"}, {"unix_seconds", now}})) {
    return Error{Code::unavailable, cat("could not write to ", path, ": is the disk full?")};
  }
  return std::unique_ptr<RunLog>(std::move(log));
}
}  // namespace corisco::metrics
