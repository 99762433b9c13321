#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
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
constexpr double kMicroseconds = 1e6;

struct Loop {
  std::function<std::string(std::uint64_t serial)> next_request;
  std::optional<std::string> request;    // the same for every call
  bool streamed = false;
  TimePoint counts_from, ends_at;
  std::uint64_t serial = 0;
  Endings endings;
  std::vector<double> latencies, first_bytes;   // microseconds
  std::size_t body_bytes = 0;
};

asio::awaitable<void> call_until_end(asio::io_context& io, Target target, Loop& loop) {
  const auto client = std::make_unique<Client>(io, target.port);
  while (std::chrono::steady_clock::now() < loop.ends_at) {
    std::string own_request;
    if (!loop.request) own_request = loop.next_request(++loop.serial);
    const std::string& request = loop.request ? *loop.request : own_request;
    Events events;
    Events* const seen = loop.streamed ? &events : nullptr;
    const Outcome outcome = co_await client->call(request, seen);
    if (outcome.sent < loop.counts_from && outcome.status != 0) continue;
    loop.endings.count(outcome);
    if (outcome.status == 0) co_return;
    loop.latencies.push_back(kMicroseconds * seconds_between(outcome.sent, outcome.end));
    loop.first_bytes.push_back(kMicroseconds * seconds_between(outcome.sent, outcome.first_byte));
    loop.body_bytes = outcome.body_bytes;
  }
}

nlohmann::ordered_json run(asio::io_context& io, const Load& load, Loop& loop) {
  const auto seconds = [](double value) { return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(value)); };
  loop.counts_from = std::chrono::steady_clock::now() + seconds(kWarmUpSeconds);
  loop.ends_at = loop.counts_from + seconds(load.seconds);
  for (unsigned i = 0; i < load.connections; ++i)
    asio::co_spawn(io, call_until_end(io, load.target, loop), asio::detached);
  io.run_until(loop.counts_from);
  const auto begin = std::chrono::steady_clock::now();
  const Spent spent(load.pid);
  io.run();
  const auto elapsed = seconds_between(begin, std::chrono::steady_clock::now());
  nlohmann::ordered_json line = {{"connections", load.connections}, {"seconds", elapsed}, {"calls", loop.endings.good()},
                                 {"failed", loop.endings.failed()}, {"reply_bytes", loop.body_bytes}};
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
  Loop loop;
  loop.request = load.streamed ? counted_stream(load.target, 1) : small_chat(load.target);
  loop.streamed = load.streamed;
  return run(io, load, loop);
}

nlohmann::ordered_json large(asio::io_context& io, const Load& load) {
  Loop loop;
  loop.next_request = [target = load.target](std::uint64_t serial) { return large_chat(target, serial); };
  return run(io, load, loop);
}
}  // namespace corisco::bench
