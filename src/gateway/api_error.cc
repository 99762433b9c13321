#include "gateway/api_error.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "corisco/base/json.h"

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
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 402: return "Payment Required";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 529: return "Overloaded";
    default: return "Unknown";
  }
}

namespace {
using nlohmann::json;

// https://docs.claude.com/en/api/errors
const char* anthropic_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 504: return "timeout_error";
    case 529: return "overloaded_error";
    default: return status < 500 ? "invalid_request_error" : "api_error";
  }
}

json in_openais_shape(const ApiError& error) {
  json inner = {{"message", error.message}, {"type", error.type}, {"code", error.code}};
  inner["param"] = error.param.empty() ? json(nullptr) : json(error.param);
  return {{"error", std::move(inner)}};
}

json in_anthropics_shape(const ApiError& error) {
  const char* type = anthropic_type(status_in(ErrorShape::anthropic, error));
  return {{"type", "error"}, {"error", {{"type", type}, {"message", error.message}}}};
}

json in_agent_lightnings_shape(const ApiError& error) {
  if (error.status != 422) return {{"detail", error.message}};
  json location = json::array({"body"});
  if (!error.param.empty()) location.push_back(error.param);
  return {{"detail", json::array({{{"type", error.code}, {"loc", location}, {"msg", error.message}}})}};
}
}  // namespace

int status_in(ErrorShape shape, const ApiError& error) {
  return shape == ErrorShape::anthropic && error.status == 503 ? 529 : error.status;
}

std::string to_json(const ApiError& error, ErrorShape shape) {
  switch (shape) {
    case ErrorShape::anthropic: return json_text(in_anthropics_shape(error));
    case ErrorShape::agent_lightning: return json_text(in_agent_lightnings_shape(error));
    case ErrorShape::openai: break;
  }
  return json_text(in_openais_shape(error));
}
}  // namespace corisco::gateway
