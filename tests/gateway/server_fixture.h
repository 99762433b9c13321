// A server on a free loopback port with fakes behind it, its io_context in a thread of its own.
#pragma once
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "corisco/gateway/server.h"
#include "gateway/fakes.h"
#include "gateway/raw_client.h"

namespace corisco::gateway::fakes {
class ServerTest : public testing::Test {
 protected:
  ServerTest();
  ~ServerTest() override;
  void start();
  void TearDown() override;

  // The value of work() on the io thread, which owns the fakes.
  template <class Work>
  auto on_io(Work work) {
    std::optional<decltype(work())> value;
    run_on_io([&] { value.emplace(work()); });
    return *std::move(value);
  }
  // Whether it comes to hold, on the io thread.
  bool eventually(const std::function<bool()>& condition);
  // The first sequence's, who has stopped reading: more comes than the kernel's buffers take.
  void expect_that_a_reader_is_cut();
  std::string open_attempt(std::uint64_t rollout, Mode mode = Mode::train, std::uint32_t sibling = 0);

  static std::string post(const std::string& path, const std::string& body, const std::string& key = {});
  static std::string get(const std::string& path);
  RawReply ask(const std::string& request);
  RawReply chat(const nlohmann::json& body, const std::string& key = {});
  static nlohmann::json hi(nlohmann::json more = nlohmann::json::object());
  // The JSON events of a stream; the last is a string if it is not JSON.
  static std::vector<nlohmann::json> events(const std::string& body);

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

 private:
  void run_on_io(const std::function<void()>& work);
};
}  // namespace corisco::gateway::fakes
