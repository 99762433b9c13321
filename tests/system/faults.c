/* Preloaded into the daemon by a test: makes the N-th call that changes files under a path end the process,
 * stop half-way, or fail. Calls are counted over all threads, in this order of a path's life: creating open,
 * mkdir, write, fsync, rename, unlink. Environment:
 *   CORISCO_FAULT_PATH  counted are calls on paths that contain this
 *   CORISCO_FAULT_RECORD  counted are only writes at an offset of journal records one of which has this type
 *   CORISCO_FAULT_AT    number of the call, from 1; 0: none
 *   CORISCO_FAULT_TIMES how many calls from there on fail (of errors)
 *   CORISCO_FAULT_KIND  kill: before the call; half: after half of a write; else an errno's number
 *   CORISCO_FAULT_LOG   file that every counted call is appended to, as "N NAME PATH" */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(result, name, ...)                                 \
  static result (*real)(__VA_ARGS__);                           \
  if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

enum { GO_ON = 0, HALF = -1 };
static atomic_long counted;

static const char* setting(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value ? value : otherwise;
}

static void log_call(long number, const char* name, const char* path) {
  const char* file = getenv("CORISCO_FAULT_LOG");
  if (!file) return;
  char line[4400];
  const int length = snprintf(line, sizeof line, "%ld %s %s\n", number, name, path);
  static ssize_t (*write_)(int, const void*, size_t);
  if (!write_) write_ = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  static int (*open_)(const char*, int, ...);
  if (!open_) open_ = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open");
  const int fd = open_(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (write_(fd, line, (size_t)length) < 0) abort();
  close(fd);
}

/* GO_ON, HALF, or the errno with which the call is to fail. */
static int fault(const char* name, const char* path) {
  const char* wanted = getenv("CORISCO_FAULT_PATH");
  if (!wanted || !path || !strstr(path, wanted)) return GO_ON;
  if (getenv("CORISCO_FAULT_RECORD") && strcmp(name, "write") != 0) return GO_ON;
  const long number = atomic_fetch_add(&counted, 1) + 1;
  log_call(number, name, path);
  const long first = atol(setting("CORISCO_FAULT_AT", "0"));
  const char* kind = setting("CORISCO_FAULT_KIND", "kill");
  if (strcmp(kind, "kill") == 0 || strcmp(kind, "half") == 0) {
    if (number != first) return GO_ON;
    if (strcmp(kind, "half") == 0 && strcmp(name, "write") == 0) return HALF;
    kill(getpid(), SIGKILL);
  }
  const long times = atol(setting("CORISCO_FAULT_TIMES", "1"));
  return first > 0 && number >= first && number < first + times ? atoi(kind) : GO_ON;
}

/* Frames of a journal: u32 length of the payload, u32 sum, u8 type, u64 sequence, u32 time, payload. */
static int has_wanted_record(const unsigned char* bytes, size_t count) {
  const char* wanted = getenv("CORISCO_FAULT_RECORD");
  for (size_t at = 0; wanted && at + 21 <= count;) {
    unsigned length;
    memcpy(&length, bytes + at, 4);
    if (bytes[at + 8] == atoi(wanted)) return 1;
    at += 21 + (size_t)length;
  }
  return !wanted;
}

static int fault_of_fd(const char* name, int fd) {
  char link[64], path[4096];
  if (!getenv("CORISCO_FAULT_PATH")) return GO_ON;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return GO_ON;
  path[length] = 0;
  return fault(name, path);
}

/* Returns from the calling function if the call fails. */
#define FAIL_IF(expression)     \
  do {                          \
    const int code = expression; \
    if (code > 0) {             \
      errno = code;             \
      return -1;                \
    }                           \
  } while (0)

ssize_t write(int fd, const void* bytes, size_t count) {
  REAL(ssize_t, write, int, const void*, size_t);
  const int code = fault_of_fd("write", fd);
  if (code == HALF) {
    if (real(fd, bytes, count / 2) < 0) abort();
    kill(getpid(), SIGKILL);
  }
  if (code > 0) {
    errno = code;
    return -1;
  }
  return real(fd, bytes, count);
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
  REAL(ssize_t, writev, int, const struct iovec*, int);
  const int code = fault_of_fd("write", fd);
  if (code == HALF) {
    if (real(fd, parts, count / 2) < 0) abort();
    kill(getpid(), SIGKILL);
  }
  if (code > 0) {
    errno = code;
    return -1;
  }
  return real(fd, parts, count);
}

ssize_t pwrite64(int fd, const void* bytes, size_t count, off64_t offset) {
  REAL(ssize_t, pwrite64, int, const void*, size_t, off64_t);
  if (has_wanted_record(bytes, count)) FAIL_IF(fault_of_fd("write", fd));
  return real(fd, bytes, count, offset);
}
ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) { return pwrite64(fd, bytes, count, offset); }

int fsync(int fd) {
  REAL(int, fsync, int);
  FAIL_IF(fault_of_fd("fsync", fd));
  return real(fd);
}

int fdatasync(int fd) {
  REAL(int, fdatasync, int);
  FAIL_IF(fault_of_fd("fsync", fd));
  return real(fd);
}

int ftruncate64(int fd, off64_t size) {
  REAL(int, ftruncate64, int, off64_t);
  FAIL_IF(fault_of_fd("ftruncate", fd));
  return real(fd, size);
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int rename(const char* from, const char* to) {
  REAL(int, rename, const char*, const char*);
  FAIL_IF(fault("rename", strstr(to, setting("CORISCO_FAULT_PATH", "")) ? to : from));
  return real(from, to);
}

int mkdir(const char* path, mode_t mode) {
  REAL(int, mkdir, const char*, mode_t);
  FAIL_IF(fault("mkdir", path));
  return real(path, mode);
}

int unlink(const char* path) {
  REAL(int, unlink, const char*);
  FAIL_IF(fault("unlink", path));
  return real(path);
}

int unlinkat(int fd, const char* path, int flags) {
  REAL(int, unlinkat, int, const char*, int);
  FAIL_IF(fd == AT_FDCWD ? fault("unlink", path) : fault_of_fd("unlink", fd));
  return real(fd, path, flags);
}

static int fault_of_open(const char* path, int flags) {
  return flags & O_CREAT ? fault("open", path) : GO_ON;
}

#define OPEN(name)                                  \
  int name(const char* path, int flags, ...) {      \
    REAL(int, name, const char*, int, ...);         \
    mode_t mode = 0;                                \
    if (flags & O_CREAT) {                          \
      va_list rest;                                 \
      va_start(rest, flags);                        \
      mode = va_arg(rest, mode_t);                  \
      va_end(rest);                                 \
    }                                               \
    FAIL_IF(fault_of_open(path, flags));            \
    return real(path, flags, mode);                 \
  }
OPEN(open)
OPEN(open64)

FILE* fopen64(const char* path, const char* mode) {
  REAL(FILE*, fopen64, const char*, const char*);
  const int code = mode[0] == 'r' ? GO_ON : fault("open", path);
  if (code > 0) {
    errno = code;
    return NULL;
  }
  return real(path, mode);
}
FILE* fopen(const char* path, const char* mode) { return fopen64(path, mode); }
