#include "corisco/base/files.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "corisco/base/strings.h"

namespace corisco::files {
namespace {
Error failed(const std::string& what, const std::string& path) {
  const Code code = errno == ENOENT ? Code::not_found : Code::unavailable;
  return Error{code, cat("could not ", what, " ", path, ": ", std::strerror(errno))};
}

std::string parent(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// write_some takes a piece and how many bytes were written before it.
template <class WriteSome>
std::size_t write_in_pieces(std::string_view bytes, const WriteSome& write_some) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto wrote = write_some(bytes.substr(done), done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  return done;
}

Result<void> write_and_sync(const std::string& path, std::string_view content, int mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return failed("create", path);
  if (write_all(fd, content) < content.size()) {
    const Error error = failed("write", path);
    ::close(fd);
    return error;
  }
  const bool synced = ::fsync(fd) == 0;
  const Error error = failed("sync", path);
  ::close(fd);
  if (!synced) return error;
  return {};
}

class Sha256 {
 public:
  Sha256() { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void add(const char* bytes, std::size_t count) {
    EVP_DigestUpdate(context_.get(), bytes, count);
  }
  std::string finish() {
    std::array<unsigned char, 32> digest{};
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    std::string text;
    for (const auto byte : digest) {
      constexpr const char* kDigits = "0123456789abcdef";
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};
}  // namespace

std::size_t write_all(int descriptor, std::string_view bytes) {
  return write_in_pieces(bytes, [descriptor](std::string_view piece, std::size_t) {
    return ::write(descriptor, piece.data(), piece.size());
  });
}

std::size_t write_all_at(int descriptor, std::string_view bytes, std::uint64_t offset) {
  return write_in_pieces(bytes, [descriptor, offset](std::string_view piece, std::size_t done) {
    return ::pwrite(descriptor, piece.data(), piece.size(), static_cast<off_t>(offset + done));
  });
}

Result<std::string> read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return failed("open", path);
  std::ostringstream content;
  content << in.rdbuf();
  if (in.bad()) return failed("read", path);
  return std::move(content).str();
}

Result<void> sync_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failed("open", path);
  const bool synced = ::fsync(fd) == 0;
  const Error error = failed("sync", path);
  ::close(fd);
  if (!synced) return error;
  return {};
}

Result<void> write_atomically(const std::string& path, std::string_view content, int mode) {
  const std::string aside = cat(path, ".", ::getpid(), ".tmp");
  if (auto wrote = write_and_sync(aside, content, mode); !wrote.ok()) {
    ::unlink(aside.c_str());
    return wrote;
  }
  if (::rename(aside.c_str(), path.c_str()) != 0) {
    const Error error = failed("rename to", path);
    ::unlink(aside.c_str());
    return error;
  }
  return sync_folder(parent(path));
}

std::string sha256(std::string_view content) {
  Sha256 hash;
  hash.add(content.data(), content.size());
  return hash.finish();
}

Result<std::string> sha256_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return failed("open", path);
  Sha256 hash;
  std::string block(1 << 20, '\0');
  while (in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    hash.add(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  return hash.finish();
}
}  // namespace corisco::files
