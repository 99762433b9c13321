// Whole-file operations that leave either the old or the new content behind, never half, and the loop under them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "corisco/base/result.h"

namespace corisco::files {
Result<std::string> read(const std::string& path);
// Writes aside, syncs, renames, syncs the folder. mode: permission bits of a new file.
Result<void> write_atomically(const std::string& path, std::string_view content, int mode = 0644);
// Through short writes and interruptions, at the descriptor's place or at `offset`. Returns how many bytes were
// written; where that is not all of them, errno says why.
std::size_t write_all(int descriptor, std::string_view bytes);
std::size_t write_all_at(int descriptor, std::string_view bytes, std::uint64_t offset);
Result<void> sync_folder(const std::string& path);
std::string sha256(std::string_view content);            // 64 lower-case hex digits
Result<std::string> sha256_of_file(const std::string& path);
}  // namespace corisco::files
