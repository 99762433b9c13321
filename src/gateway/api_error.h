// An error as a client of the API sees it: status, type, code and a short text, written in the shape
// of the API that was called. Pure. The text never repeats what the client sent beyond the name of a
// field.
#pragma once
#include <cstdint>
#include <string>
#include <variant>

#include "corisco/base/result.h"

namespace corisco::gateway {
struct ApiError {
  int status = 500;
  std::string type = "server_error";
  std::string code = "internal";
  std::string param;               // the field that is wrong; empty: none
  std::string message;
  int retry_after_seconds = 0;     // 0: no such header
  bool is_final = false;           // the same again fails again: x-should-retry: false
};

enum class ErrorShape : std::uint8_t { openai, anthropic, agent_lightning };

// A value, or why there is none.
template <class T>
using OrApiError = std::variant<T, ApiError>;

ApiError invalid_request(std::string message, std::string param = {},
                         std::string code = "invalid_value");
ApiError authentication_error(std::string message);
// The one map from operating errors to HTTP.
ApiError from_error(const Error& error);
// The reason of an HTTP status, such as "Not Found".
const char* status_reason(int status);
//   openai     {"error":{"message","type","param","code"}}
//   anthropic  {"type":"error","error":{"type","message"}}, the type named by the status
//   agent_lightning  {"detail"}: the message; for a status of 422 a list of {"type","loc","msg"}
std::string to_json(const ApiError& error, ErrorShape shape = ErrorShape::openai);
// The error's status as the shape's API has it: Anthropic's says 529 where others say 503.
int status_in(ErrorShape shape, const ApiError& error);
}  // namespace corisco::gateway
