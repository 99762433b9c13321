// Reads rewards: finite numbers or booleans; anything else is refused by name. Pure.
#pragma once
#include <string>
#include <string_view>

#include "corisco/base/result.h"

namespace corisco::rollouts {
struct Reward {
  double value = 0;
  std::string note;
};

// A reward file's content or a command's last line: JSON or plain text that is a number or a
// boolean ("0.5", "true", "1e-3").
Result<Reward> parse_reward_text(std::string_view text);
// What the warmed interpreter wrote for a reward function:
//   {"ok": true, "value": 0.5, "shown": "0.5"}; a value may be a number, a boolean or [number, note]
//   {"ok": false, "error": "Traceback ..."}
Result<Reward> parse_function_reward(std::string_view result_json);
// Of a command's output: its last line that is not blank.
std::string_view last_line(std::string_view output);
// The last lines of an output, for messages.
std::string last_lines(std::string_view output, std::size_t count);
}  // namespace corisco::rollouts
