// Which files a Python file runs besides itself: those that it imports from its own folder and the packages
// below it, and those that these import. Found in the text of import statements that begin a line; nothing is
// run. What is imported by a name that is made at run time, or from elsewhere (installed packages, PYTHONPATH),
// is not seen. Reads files; any thread.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace corisco::app {
// Further files are left out, and the log says so.
inline constexpr std::size_t kImportedFilesMax = 256;
// Their whole paths, ascending, without the file itself; none if it cannot be read.
std::vector<std::string> imported_files(const std::string& python_file);
}  // namespace corisco::app
