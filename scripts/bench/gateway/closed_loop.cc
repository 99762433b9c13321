#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "measures.h"
#include "percentile.h"
#include "tally.h"

namespace corisco::bench {
namespace asio = boost::asio;
namespace {
constexpr double kWarmUpSeconds = 0.3;   // connections opened, the server's memory touched; not counted
constexpr double kGraceSeconds = 6;      // for the replies that are under way at the end
constexpr double kMicroseconds = 1e6;

struct Loop {
  explicit Loop(asio::io_context& io) : deadline(io) {}
  std::function<std::string(std::uint64_t serial)> next_request;
  std::optional<std::string> request;    // the same for every call
  bool streamed = false;
  TimePoint counts_from, ends_at;
  std::vector<std::unique_ptr<Client>> clients;
  std::size_t running = 0;
  asio::steady_timer deadline;
  std::uint64_t serial = 0;
  Endings endings;
  std::vector<double> latencies, first_bytes;   // microseconds
  std::size_t body_bytes = 0;
};

// Counts what ends after the warm-up, so that a slow server's first calls are not lost.
asio::awaitable<void> call_until_end(Client& client, Loop& loop) {
  Outcome outcome;
  outcome.status = 200;
  while (outcome.status != 0 && std::chrono::steady_clock::now() < loop.ends_at) {
    std::string own_request;
    if (!loop.request) own_request = loop.next_request(++loop.serial);
    const std::string& request = loop.request ? *loop.request : own_request;
    Events events;
    Events* const seen = loop.streamed ? &events : nullptr;
    outcome = co_await client.call(request, seen);
    if (outcome.status != 0 && outcome.end < loop.counts_from) continue;
    if (!loop.endings.count(outcome)) continue;
    loop.latencies.push_back(kMicroseconds * seconds_between(outcome.sent, outcome.end));
    loop.first_bytes.push_back(kMicroseconds * seconds_between(outcome.sent, outcome.first_byte));
    loop.body_bytes = outcome.body_bytes;
  }
  if (--loop.running == 0) loop.deadline.cancel();
}

void start(asio::io_context& io, const Load& load, Loop& loop) {
  loop.counts_from = std::chrono::steady_clock::now() + nanoseconds(kWarmUpSeconds);
  loop.ends_at = loop.counts_from + nanoseconds(load.seconds);
  loop.running = load.connections;
  for (unsigned i = 0; i < load.connections; ++i) {
    auto& client = *loop.clients.emplace_back(std::make_unique<Client>(io, load.target.port));
    asio::co_spawn(io, call_until_end(client, loop), asio::detached);
  }
  loop.deadline.expires_at(loop.ends_at + nanoseconds(kGraceSeconds));
  loop.deadline.async_wait([&loop](boost::system::error_code error) {
    if (error) return;
    for (const auto& client : loop.clients) client->cut();
  });
}

nlohmann::ordered_json run(asio::io_context& io, const Load& load, Loop& loop) {
  start(io, load, loop);
  io.run_until(loop.counts_from);
  const auto begin = std::chrono::steady_clock::now();
  const Spent spent(load.pid);
  io.run();
  const auto elapsed = seconds_between(begin, std::chrono::steady_clock::now());
  nlohmann::ordered_json line = {{"connections", load.connections}, {"seconds", elapsed},
                                 {"calls", loop.endings.good()}, {"failed", loop.endings.failed()},
                                 {"reply_bytes", loop.body_bytes}};
  const auto calls = static_cast<double>(loop.latencies.size());
  line["calls_per_second"] = calls / elapsed;
  line["cpu_us_per_call"] = calls > 0 ? kMicroseconds * spent.server_seconds() / calls : 0;
  line["latency_p50_us"] = percentile(loop.latencies, 0.50);
  line["latency_p99_us"] = percentile(loop.latencies, 0.99);
  line["first_byte_p50_us"] = percentile(loop.first_bytes, 0.50);
  line["first_byte_p99_us"] = percentile(loop.first_bytes, 0.99);
  spent.write(line, elapsed);
  return line;
}
}  // namespace

nlohmann::ordered_json small(asio::io_context& io, const Load& load) {
  Loop loop(io);
  loop.request = load.streamed ? counted_stream(load.target, 1) : small_chat(load.target);
  loop.streamed = load.streamed;
  return run(io, load, loop);
}

nlohmann::ordered_json large(asio::io_context& io, const Load& load) {
  Loop loop(io);
  loop.next_request = [target = load.target](std::uint64_t serial) { return large_chat(target, serial); };
  return run(io, load, loop);
}
}  // namespace corisco::bench
