#include "rollouts/output_file.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"

namespace corisco::rollouts {
Result<OutputFile> OutputFile::create(const std::string& path, std::uint64_t bytes_max) {
  OutputFile output;
  output.bytes_left_ = bytes_max;
  output.file_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  std::array<int, 2> ends{};
  if (output.file_.get() < 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{Code::unavailable, cat("could not create ", path, ": ", std::strerror(errno))};
  }
  output.read_end_ = FileDescriptor(ends[0]);
  output.write_end_ = FileDescriptor(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return output;
}

void OutputFile::keep(const char* bytes, std::size_t count) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(count, bytes_left_));
  const std::size_t done = files::write_all(file_.get(), {bytes, wanted});
  bytes_left_ -= done;
  if (done < wanted) bytes_left_ = 0;  // the disk is full: what follows would be torn
  bytes_dropped_ += count - done;
}

void OutputFile::copy_available() {
  // One turn takes a bounded amount: a harness that never stops writing must not keep the
  // supervisor from its other work.
  constexpr int kBlocksMax = 16;
  std::array<char, 65536> block{};
  for (int i = 0; i < kBlocksMax && read_end_.get() >= 0;) {
    const auto count = ::read(read_end_.get(), block.data(), block.size());
    if (count > 0) {
      keep(block.data(), static_cast<std::size_t>(count));
      ++i;
    } else if (count == 0) {
      read_end_.reset();
    } else if (errno != EINTR) {
      return;
    }
  }
}

void OutputFile::finish() {
  copy_available();
  if (bytes_dropped_ == 0) return;
  const std::string marker = cat("\n[", bytes_dropped_, " more bytes of output were dropped]\n");
  files::write_all(file_.get(), marker);
}
}  // namespace corisco::rollouts
