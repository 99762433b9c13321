// A server on a free loopback port with fakes behind it, its io_context in a thread of its own.
#pragma once
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <cstdlib>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "corisco/base/json.h"
#include "corisco/gateway/server.h"
#include "gateway/fakes.h"
#include "gateway/raw_client.h"

namespace corisco::gateway::fakes {
class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    rollouts.attempts = &attempts;
    config.gateway.listen = "127.0.0.1:0";
    config.run.seed = 7;
    config.sampling.max_tokens = 64;
    config.sampling.temperature = 0.9F;
    config.evaluation.temperature = 0.25F;
  }
  void start() {
    ServerParts parts;
    parts.io = &io;
    parts.config = &config;
    parts.clock = &real_clock();
    parts.gate = &gate;
    parts.generator = &generator;
    parts.calls = &sink;
    parts.rollouts = &rollouts;
    parts.attempts = &attempts;
    parts.metrics = &metrics;
    parts.tokenizer = tokenizer;
    parts.chat_template = chat_template;
    parts.reply_syntax = reply_syntax;
    parts.call_id_secret = call_id_secret;
    parts.end_ids = {kEnd};
    parts.model_name = "tiny";
    parts.is_ready = [this] { return is_ready; };
    parts.state_json = [this] {
      return json_text(nlohmann::json{{"phase", "generating"}, {"paused", is_paused}});
    };
    parts.set_paused = [this](bool pause) { is_paused = pause; };
    parts.checkpoint = [this](coordinator::OnCheckpoint done) { checkpoint_askers.push_back(std::move(done)); };
    parts.checkpoint_wait = checkpoint_wait;
    parts.silent_hold = silent_hold;
    parts.heartbeat = silent_hold;
    server.emplace(std::move(parts));
    const auto started = server->start();
    ASSERT_TRUE(started.ok());
    const auto url = server->url();
    port = static_cast<std::uint16_t>(std::atoi(url.substr(url.rfind(':') + 1).c_str()));
    guard.emplace(io.get_executor());
    thread = std::thread([this] { io.run(); });
  }
  // The value of work() on the io thread, which owns the fakes.
  template <class Work>
  auto on_io(Work work) {
    std::promise<decltype(work())> promise;
    boost::asio::post(io, [&] { promise.set_value(work()); });
    return promise.get_future().get();
  }
  void TearDown() override {
    if (!thread.joinable()) return;
    on_io([this] { server->stop(); return 0; });
    guard.reset();
    thread.join();                       // the io_context runs dry: nothing waits for ever
    EXPECT_EQ(gate.num_inside(), 0U);
    EXPECT_EQ(generator.running.size(), 0U);
  }

  template <class Condition>
  bool eventually(Condition condition) {
    for (int i = 0; i < 2000; ++i) {
      if (on_io(condition)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // The first sequence's, who has stopped reading: more comes than the kernel's buffers take.
  void expect_that_a_reader_is_cut() {
    on_io([this] {
      for (int i = 0; i < 60; ++i) generator.give(RequestId{1}, std::vector<TokenId>(100000, 'a'), {});
      return 0;
    });
    EXPECT_TRUE(eventually([this] { return generator.cancelled.size() == 1; }));
    EXPECT_TRUE(eventually([this] { return sink.calls.size() == 1 && !sink.delivered.at(CallId{1}); }));
  }
  std::string open_attempt(std::uint64_t rollout, Mode mode = Mode::train, std::uint32_t sibling = 0) {
    return on_io([&] {
      return attempts.open({{RolloutId{rollout}, 1}, mode, 5, sibling, 0, rollout, 1.7e9});
    });
  }

  static std::string post(const std::string& path, const std::string& body, const std::string& key = {}) {
    const auto bearer = key.empty() ? std::string() : cat("Authorization: Bearer ", key, "\r\n");
    return cat("POST ", path, " HTTP/1.1\r\nHost: x\r\n", bearer, "Content-Length: ", body.size(), "\r\n\r\n",
               body);
  }
  static std::string get(const std::string& path) {
    return cat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  RawReply ask(const std::string& request) {
    RawClient client(port);
    client.send(request);
    return client.read_reply();
  }
  RawReply chat(const nlohmann::json& body, const std::string& key = {}) {
    return ask(post("/v1/chat/completions", json_text(body), key));
  }
  static nlohmann::json hi(nlohmann::json more = nlohmann::json::object()) {
    more["messages"] = {{{"role", "user"}, {"content", "hi"}}};
    return more;
  }
  // The JSON events of a stream; the last is a string if it is not JSON.
  static std::vector<nlohmann::json> events(const std::string& body) {
    std::vector<nlohmann::json> list;
    for (std::size_t at = 0, end = 0; (end = body.find("\n\n", at)) != std::string::npos; at = end + 2) {
      const auto text = body.substr(at + 6, end - at - 6);
      list.push_back(text == "[DONE]" ? nlohmann::json(text) : parse_json(text));
    }
    return list;
  }

  boost::asio::io_context io;
  config::Config config;
  coordinator::Gate gate{io.get_executor()};
  ScriptedGenerator generator{io};
  MemorySink sink;
  MemoryRollouts rollouts;
  Attempts attempts;
  metrics::Registry metrics;
  std::shared_ptr<ByteTokenizer> tokenizer = std::make_shared<ByteTokenizer>();
  std::shared_ptr<const text::ChatTemplate> chat_template = std::make_shared<PlainTemplate>();
  ReplySyntax reply_syntax;
  std::string call_id_secret;            // empty: one of this server's
  bool is_paused = false, is_ready = true;
  std::vector<coordinator::OnCheckpoint> checkpoint_askers;   // answered by the test
  Duration silent_hold = std::chrono::seconds(100), checkpoint_wait = std::chrono::seconds(60);
  std::optional<Server> server;
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guard;
  std::thread thread;
  std::uint16_t port = 0;
};
}  // namespace corisco::gateway::fakes
