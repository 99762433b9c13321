// Whole-file operations that leave either the old or the new content behind, never half.
#pragma once
#include <string>
#include <string_view>

#include "corisco/base/result.h"

namespace corisco::files {
Result<std::string> read(const std::string& path);
// Writes aside, syncs, renames, syncs the folder. mode: permission bits of a new file.
Result<void> write_atomically(const std::string& path, std::string_view content, int mode = 0644);
Result<void> sync_folder(const std::string& path);
std::string sha256(std::string_view content);            // 64 lower-case hex digits
Result<std::string> sha256_of_file(const std::string& path);
}  // namespace corisco::files
