// RunLog over one appended JSON-lines file and, if asked, an event file.
#include "corisco/metrics/run_log.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "corisco/base/clock.h"
#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "metrics/appended_file.h"
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
  FileRunLog(AppendedFile lines, std::optional<EventFile> events)
      : lines_(std::move(lines)), events_(std::move(events)) {}

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
    auto written = lines_.append(line_of(object));
    if (events_ && !scalars.empty()) {
      const auto added = events_->add(now, step, scalars);
      if (written.ok()) written = added;
    }
    note(written);
  }

 private:
  // A full disk is said once, and once that it is over.
  void note(const Result<void>& written) {
    if (is_failing_ == !written.ok()) return;
    is_failing_ = !written.ok();
    if (is_failing_) log::error(cat("the run's metrics wait for the next line: ", written.error().message));
    else log::info("the run's metrics are written again, with those that waited");
  }

  AppendedFile lines_;
  std::optional<EventFile> events_;
  bool is_failing_ = false;
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
  CORISCO_TRY(AppendedFile lines, AppendedFile::open(path));
  const double now = real_clock().unix_seconds();
  std::optional<EventFile> events;
  if (tensorboard) {
    CORISCO_TRY(events, EventFile::create(cat(folder, "/tensorboard"), now));
  }
  if (lines.size() == 0)
    CORISCO_CHECK(lines.append(line_of({{"format", kFormat}, {"kind", "header"}, {"unix_seconds", now}})));
  return std::unique_ptr<RunLog>(std::make_unique<FileRunLog>(std::move(lines), std::move(events)));
}
}  // namespace corisco::metrics
