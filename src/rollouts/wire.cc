#include "rollouts/wire.h"

namespace corisco::rollouts::wire {
namespace {
class Writer {
 public:
  template <class Integer>
  void integer(Integer value) {
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
      bytes_ += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xFF);
    }
  }
  void text(std::string_view value) {
    integer(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
  }
  void attempt(const AttemptKey& key) {
    integer(key.rollout.value);
    integer(key.attempt);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class Integer>
  Integer integer() {
    if (bytes_.size() < sizeof(Integer)) return fail<Integer>();
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    }
    bytes_.remove_prefix(sizeof(Integer));
    return static_cast<Integer>(value);
  }
  std::string text() {
    const auto size = integer<std::uint32_t>();
    if (bytes_.size() < size) return fail<std::string>();
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }
  AttemptKey attempt() {
    AttemptKey key;
    key.rollout.value = integer<std::uint64_t>();
    key.attempt = integer<std::uint32_t>();
    return key;
  }
  bool is_whole() const { return !failed_ && bytes_.empty(); }
  bool failed() const { return failed_; }

 private:
  template <class T>
  T fail() {
    failed_ = true;
    bytes_ = {};
    return T{};
  }
  std::string_view bytes_;
  bool failed_ = false;
};

template <class T>
std::optional<T> if_whole(const Reader& reader, T value) {
  if (!reader.is_whole()) return std::nullopt;
  return value;
}
}  // namespace

std::string encode_frame(Type type, std::string_view body) {
  Writer writer;
  writer.integer(static_cast<std::uint32_t>(body.size()));
  writer.integer(static_cast<std::uint8_t>(type));
  return writer.take().append(body);
}

std::optional<Frame> take_frame(std::string& buffer, bool& is_broken) {
  is_broken = false;
  if (buffer.size() < kHeaderBytes) return std::nullopt;
  Reader reader(std::string_view(buffer).substr(0, kHeaderBytes));
  const std::size_t size = reader.integer<std::uint32_t>();
  if (size > kFrameBytesMax) {
    is_broken = true;
    return std::nullopt;
  }
  if (buffer.size() < kHeaderBytes + size) return std::nullopt;
  Frame frame{static_cast<Type>(reader.integer<std::uint8_t>()), buffer.substr(kHeaderBytes, size)};
  buffer.erase(0, kHeaderBytes + size);
  return frame;
}

std::string encode(const Launch& launch) {
  Writer writer;
  writer.attempt(launch.attempt);
  writer.integer(static_cast<std::uint32_t>(launch.argv.size()));
  for (const auto& argument : launch.argv) writer.text(argument);
  writer.text(launch.python_function);
  writer.text(launch.python_argument_json);
  writer.integer(static_cast<std::uint32_t>(launch.env.size()));
  for (const auto& [name, value] : launch.env) {
    writer.text(name);
    writer.text(value);
  }
  writer.text(launch.work_folder);
  writer.text(launch.output_file);
  writer.text(launch.result_file);
  writer.integer(launch.output_bytes_max);
  writer.integer(launch.memory_mb_max);
  writer.integer(launch.tree_memory_mb_max);
  writer.integer(launch.tree_processes_max);
  return writer.take();
}

std::optional<Launch> decode_launch(std::string_view body) {
  Reader reader(body);
  Launch launch;
  launch.attempt = reader.attempt();
  for (auto left = reader.integer<std::uint32_t>(); left > 0 && !reader.failed(); --left) {
    launch.argv.push_back(reader.text());
  }
  launch.python_function = reader.text();
  launch.python_argument_json = reader.text();
  for (auto left = reader.integer<std::uint32_t>(); left > 0 && !reader.failed(); --left) {
    std::string name = reader.text();
    launch.env[std::move(name)] = reader.text();
  }
  launch.work_folder = reader.text();
  launch.output_file = reader.text();
  launch.result_file = reader.text();
  launch.output_bytes_max = reader.integer<std::uint64_t>();
  launch.memory_mb_max = reader.integer<std::uint64_t>();
  launch.tree_memory_mb_max = reader.integer<std::uint64_t>();
  launch.tree_processes_max = reader.integer<std::uint64_t>();
  return if_whole(reader, std::move(launch));
}

std::string encode(const Kill& kill) {
  Writer writer;
  writer.attempt(kill.attempt);
  writer.integer(kill.grace_ms);
  return writer.take();
}

std::optional<Kill> decode_kill(std::string_view body) {
  Reader reader(body);
  Kill kill;
  kill.attempt = reader.attempt();
  kill.grace_ms = reader.integer<std::uint32_t>();
  return if_whole(reader, kill);
}

std::string encode(const ProcessEnd& end) {
  Writer writer;
  writer.attempt(end.attempt);
  writer.integer(static_cast<std::uint8_t>(end.how));
  writer.integer(static_cast<std::uint32_t>(end.code));
  writer.text(end.error);
  return writer.take();
}

std::optional<ProcessEnd> decode_end(std::string_view body) {
  Reader reader(body);
  ProcessEnd end;
  end.attempt = reader.attempt();
  const auto how = reader.integer<std::uint8_t>();
  if (how > static_cast<std::uint8_t>(ProcessEnd::How::over_limit)) return std::nullopt;
  end.how = static_cast<ProcessEnd::How>(how);
  end.code = static_cast<int>(reader.integer<std::uint32_t>());
  end.error = reader.text();
  return if_whole(reader, std::move(end));
}

std::string encode_pid(std::uint32_t pid) {
  Writer writer;
  writer.integer(pid);
  return writer.take();
}

std::optional<std::uint32_t> decode_pid(std::string_view body) {
  Reader reader(body);
  const auto pid = reader.integer<std::uint32_t>();
  return if_whole(reader, pid);
}
}  // namespace corisco::rollouts::wire
