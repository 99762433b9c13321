// The messages between the daemon, the spawner, the warmed interpreter and the supervisors: frames
// of a 4-byte length, a type byte and a body. Integers are little-endian; texts and lists carry a
// 4-byte count. python_host_script.cc speaks the same.
// Pure; never touches a file descriptor.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "corisco/rollouts/sandbox.h"

namespace corisco::rollouts::wire {
enum class Type : std::uint8_t {
  launch = 'L',                        // Launch, to the spawner and the interpreter
  kill = 'K',                          // Kill, to the spawner and the supervisors
  end = 'E',                           // ProcessEnd, back
  supervisor = 'S',                    // u32 pid: a supervisor of the interpreter's says who it is
  options = 'O',                       // Launch: how to start the interpreter; without argv: none
  ready = 'R',                         // nothing, or a text that says why it never will be
};
struct Frame {
  Type type = Type::ready;
  std::string body;
};
struct Kill {
  AttemptKey attempt;
  std::uint32_t grace_ms = 0;
};

inline constexpr std::size_t kHeaderBytes = 5;
inline constexpr std::size_t kFrameBytesMax = 256U << 20;

std::string encode_frame(Type type, std::string_view body);
// Takes a whole frame off the front of buffer, or nothing. is_broken: the length is absurd.
std::optional<Frame> take_frame(std::string& buffer, bool& is_broken);

std::string encode(const Launch& launch);
std::string encode(const Kill& kill);
std::string encode(const ProcessEnd& end);
std::string encode_pid(std::uint32_t pid);
// Nothing if the body is malformed.
std::optional<Launch> decode_launch(std::string_view body);
std::optional<Kill> decode_kill(std::string_view body);
std::optional<ProcessEnd> decode_end(std::string_view body);
std::optional<std::uint32_t> decode_pid(std::string_view body);
}  // namespace corisco::rollouts::wire
