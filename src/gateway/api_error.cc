#include "gateway/api_error.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace corisco::gateway {
ApiError invalid_request(std::string message, std::string param, std::string code) {
  ApiError error;
  error.status = 400;
  error.type = "invalid_request_error";
  error.code = std::move(code);
  error.param = std::move(param);
  error.message = std::move(message);
  return error;
}

ApiError authentication_error(std::string message) {
  auto error = invalid_request(std::move(message), {}, "invalid_api_key");
  error.status = 401;
  error.type = "authentication_error";
  return error;
}

namespace {
struct Mapped {
  int status;
  const char* type;
  int retry_after_seconds;
};

Mapped map_code(Code code) {
  switch (code) {
    case Code::invalid_argument: return {400, "invalid_request_error", 0};
    case Code::not_found: return {404, "not_found_error", 0};
    case Code::conflict: return {409, "conflict_error", 0};
    case Code::overloaded: return {429, "rate_limit_error", 1};
    case Code::timeout: return {504, "timeout_error", 0};
    case Code::cancelled: return {503, "service_unavailable_error", 1};
    case Code::unavailable: return {503, "service_unavailable_error", 5};
    case Code::internal: return {500, "server_error", 0};
  }
  return {500, "server_error", 0};
}
}  // namespace

ApiError from_error(const Error& error) {
  const auto mapped = map_code(error.code);
  ApiError api;
  api.status = mapped.status;
  api.type = mapped.type;
  api.code = to_string(error.code);
  api.message = error.message;
  api.retry_after_seconds = mapped.retry_after_seconds;
  api.is_final = error.code == Code::conflict;
  return api;
}

const char* status_reason(int status) {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 201: return "Created";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 417: return "Expectation Failed";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
  }
}

std::string to_json(const ApiError& error) {
  using nlohmann::json;
  json inner = {{"message", error.message}, {"type", error.type}, {"code", error.code}};
  inner["param"] = error.param.empty() ? json(nullptr) : json(error.param);
  return json{{"error", inner}}.dump(-1, ' ', false, json::error_handler_t::replace);
}
}  // namespace corisco::gateway
