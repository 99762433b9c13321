#include "corisco/base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>

namespace corisco::log {
namespace {
constexpr const char* kPattern = "%Y-%m-%d %H:%M:%S.%e %^%l%$ %v";

struct Sinks {
  std::shared_ptr<spdlog::logger> terminal = spdlog::stderr_color_mt("corisco");
  std::shared_ptr<spdlog::logger> file;
  std::mutex file_mutex;
  Sinks() { terminal->set_pattern(kPattern); }
};

Sinks& sinks() {
  static Sinks sinks;
  return sinks;
}

spdlog::level::level_enum native(Level level) {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warn: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}
}  // namespace

void set_level(Level level) { sinks().terminal->set_level(native(level)); }

void set_file(const std::string& path) {
  const std::lock_guard lock(sinks().file_mutex);
  sinks().file.reset();
  if (path.empty()) return;
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    sinks().file = std::make_shared<spdlog::logger>("file", std::move(sink));
  } catch (const spdlog::spdlog_ex& exception) {
    sinks().terminal->warn("the log is written to stderr alone: {}", exception.what());
    return;
  }
  sinks().file->set_pattern(kPattern);
  sinks().file->flush_on(spdlog::level::info);
}

void write(Level level, std::string_view message) {
  sinks().terminal->log(native(level), message);
  const std::lock_guard lock(sinks().file_mutex);
  if (sinks().file) sinks().file->log(native(level), message);
}
}  // namespace corisco::log
