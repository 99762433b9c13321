// A gateway whose model "judge" another server replies to: a FakeUpstream.
#pragma once
#include "gateway/fake_upstream.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
inline std::string whole_reply(const std::string& body, const char* status = "200 OK") {
  return cat("HTTP/1.1 ", status, "\r\nContent-Type: application/json\r\nRetry-After: 7\r\nSet-Cookie: a=b\r\n",
             "Content-Length: ", body.size(), "\r\n\r\n", body);
}

struct UpstreamTest : ServerTest {
  void pass_on_to(std::uint16_t upstream_port) {
    config.gateway.upstream_urls = {{"judge", cat("http://127.0.0.1:", upstream_port, "/api/v1")}};
    config.gateway.upstream_key = "sk-theirs";
    start();
  }
  static std::string body_for(const std::string& model) {
    return cat(R"({ "model" : ")", model, R"(", "messages":[{"role":"user","content":"hi"}], "x":1.50 })");
  }
  double count(const char* result) {
    return metrics.counter("corisco_gateway_upstream_calls_total", {"judge", result}).value();
  }
};
}  // namespace corisco::gateway::fakes
