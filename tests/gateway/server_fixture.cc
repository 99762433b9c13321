#include "gateway/server_fixture.h"

#include <boost/asio/post.hpp>
#include <cstdlib>
#include <future>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::gateway::fakes {
ServerTest::ServerTest() {
  rollouts.attempts = &attempts;
  config.gateway.listen = "127.0.0.1:0";
  config.run.seed = 7;
  config.sampling.max_tokens = 64;
  config.sampling.temperature = 0.9F;
  config.evaluation.temperature = 0.25F;
}

ServerTest::~ServerTest() = default;

void ServerTest::start() {
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
  parts.state_json = [this] { return json_text(nlohmann::json{{"phase", "generating"}, {"paused", is_paused}}); };
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

void ServerTest::TearDown() {
  if (!thread.joinable()) return;
  run_on_io([this] { server->stop(); });
  guard.reset();
  thread.join();                       // the io_context runs dry: nothing waits for ever
  EXPECT_EQ(gate.num_inside(), 0U);
  EXPECT_EQ(generator.running.size(), 0U);
}

void ServerTest::run_on_io(const std::function<void()>& work) {
  std::promise<void> done;
  boost::asio::post(io, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

bool ServerTest::eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (on_io(condition)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

void ServerTest::expect_that_a_reader_is_cut() {
  run_on_io([this] {
    for (int i = 0; i < 60; ++i) generator.give(RequestId{1}, std::vector<TokenId>(100000, 'a'), {});
  });
  EXPECT_TRUE(eventually([this] { return generator.cancelled.size() == 1; }));
  EXPECT_TRUE(eventually([this] { return sink.calls.size() == 1 && !sink.delivered.at(CallId{1}); }));
}

std::string ServerTest::open_attempt(std::uint64_t rollout, Mode mode, std::uint32_t sibling) {
  return on_io([&] {
    return attempts.open({{RolloutId{rollout}, 1}, mode, 5, sibling, 0, rollout, 1.7e9});
  });
}

std::string ServerTest::post(const std::string& path, const std::string& body, const std::string& key) {
  const auto bearer = key.empty() ? std::string() : cat("Authorization: Bearer ", key, "\r\n");
  return cat("POST ", path, " HTTP/1.1\r\nHost: x\r\n", bearer, "Content-Length: ", body.size(), "\r\n\r\n", body);
}

std::string ServerTest::get(const std::string& path) { return cat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n"); }

RawReply ServerTest::ask(const std::string& request) {
  RawClient client(port);
  client.send(request);
  return client.read_reply();
}

RawReply ServerTest::chat(const nlohmann::json& body, const std::string& key) {
  return ask(post("/v1/chat/completions", json_text(body), key));
}

nlohmann::json ServerTest::hi(nlohmann::json more) {
  more["messages"] = {{{"role", "user"}, {"content", "hi"}}};
  return more;
}

std::vector<nlohmann::json> ServerTest::events(const std::string& body) {
  std::vector<nlohmann::json> list;
  for (std::size_t at = 0, end = 0; (end = body.find("\n\n", at)) != std::string::npos; at = end + 2) {
    const auto text = body.substr(at + 6, end - at - 6);
    list.push_back(text == "[DONE]" ? nlohmann::json(text) : parse_json(text));
  }
  return list;
}
}  // namespace corisco::gateway::fakes
