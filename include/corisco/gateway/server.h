// The HTTP server: accepts, checks, routes. Runs on the io thread's io_context.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "corisco/base/clock.h"
#include "corisco/config/config.h"
#include "corisco/coordinator/checkpoint.h"
#include "corisco/coordinator/gate.h"
#include "corisco/gateway/attempts.h"
#include "corisco/gateway/ports.h"
#include "corisco/gateway/reply_syntax.h"
#include "corisco/metrics/registry.h"
#include "corisco/text/chat_template.h"
#include "corisco/text/tokenizer.h"

namespace corisco::gateway {
// Connections beyond gateway.connections_max that are accepted for one request, so that probes, metrics and /admin
// answer and others are told to come later.
inline constexpr std::uint32_t kConnectionsReserve = 64;

// Everything the server uses; all outlive it.
struct ServerParts {
  boost::asio::io_context* io = nullptr;
  const config::Config* config = nullptr;
  const Clock* clock = nullptr;
  coordinator::Gate* gate = nullptr;
  Generator* generator = nullptr;
  CallSink* calls = nullptr;
  RolloutPort* rollouts = nullptr;
  Attempts* attempts = nullptr;
  metrics::Registry* metrics = nullptr;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;
  ReplySyntax reply_syntax;
  std::vector<TokenId> end_ids;        // the model's end tokens
  std::string model_name;              // listed by /v1/models; any other name is served and echoed
  std::function<bool()> is_ready;      // the engine makes progress: /readyz
  std::function<std::string()> state_json;  // what GET /admin/state and `corisco status` show
  std::function<void(bool pause)> set_paused;  // /admin/pause, /admin/resume
  std::function<void(coordinator::OnCheckpoint)> checkpoint;  // /admin/checkpoint; answers on the io thread, once
  std::string call_id_secret;          // of the run; empty: of this process. Tool calls' ids follow from it
  std::uint64_t first_call_id = 1;     // calls are numbered from here: after the journal's last one
  // A model request that waits longer than this gets its headers, and then a sign of life now and
  // then, so that no client hangs up during an update; sooner where the client says that it waits less.
  Duration silent_hold = std::chrono::seconds(100);
  Duration heartbeat = std::chrono::seconds(15);
  // How long /admin/checkpoint waits until it is written, before it says that it is still to be.
  Duration checkpoint_wait = std::chrono::seconds(60);
};

class Server {
 public:
  explicit Server(ServerParts parts);
  ~Server();
  // Reads the certificate, binds, starts accepting. The error names the key to change and the remedy.
  Result<void> start();
  std::string url() const;             // "http://127.0.0.1:8080", or https, with the port in force
  // Stops accepting, tells the clients of running calls, cancels these, closes connections. Then the io_context runs
  // dry.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};
}  // namespace corisco::gateway
