// The daemon's log: one line per event on stderr, through spdlog inside log.cc alone.
// Any thread. Messages are built by the caller with cat() and must not contain keys or prompts.
#pragma once
#include <string>
#include <string_view>

namespace corisco::log {
enum class Level { debug, info, warn, error };
void set_level(Level level);
// Also appends every line to this file from now on; an empty path stops that. A file that cannot be opened is
// said on stderr.
void set_file(const std::string& path);
void write(Level level, std::string_view message);
inline void debug(std::string_view message) { write(Level::debug, message); }
inline void info(std::string_view message) { write(Level::info, message); }
inline void warn(std::string_view message) { write(Level::warn, message); }
inline void error(std::string_view message) { write(Level::error, message); }
}  // namespace corisco::log
