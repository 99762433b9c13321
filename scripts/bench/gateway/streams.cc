#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <vector>

#include "measures.h"
#include "percentile.h"
#include "tally.h"
#include "token_delay.h"

namespace corisco::bench {
namespace asio = boost::asio;
namespace {
constexpr double kMicroseconds = 1e6;

struct Stream {
  Stream(asio::io_context& io, std::uint16_t port) : client(io, port) {}
  Client client;
  Events events;
  Outcome outcome;
};

struct Crowd {
  std::string request;
  std::vector<std::unique_ptr<Stream>> streams;
  Endings endings;
  std::size_t running = 0;
  asio::steady_timer deadline;
};

asio::awaitable<void> follow(asio::io_context& io, Crowd& crowd, Stream& stream, TimePoint begins_at) {
  if (co_await stream.client.connect()) {
    asio::steady_timer wait(io, begins_at);
    co_await wait.async_wait(asio::as_tuple(asio::use_awaitable));
    stream.outcome = co_await stream.client.call(crowd.request, &stream.events);
  }
  crowd.endings.count(stream.outcome);
  if (--crowd.running == 0) crowd.deadline.cancel();
}

nlohmann::ordered_json line_of(Crowd& crowd, const Load& load, double elapsed) {
  std::vector<std::vector<double>> arrivals;
  std::vector<double> first_bytes;
  std::size_t tokens = 0, body_bytes = 0;
  for (const auto& stream : crowd.streams) {
    auto& times = arrivals.emplace_back();
    for (const auto time : stream->events.token_times())
      times.push_back(kMicroseconds * seconds_between(TimePoint{}, time));
    tokens += times.size();
    body_bytes += stream->outcome.body_bytes;
    if (stream->outcome.first_byte != TimePoint{})
      first_bytes.push_back(kMicroseconds * seconds_between(stream->outcome.sent, stream->outcome.first_byte));
  }
  auto delays = token_delays(arrivals, kMicroseconds / load.rate);
  nlohmann::ordered_json line = {{"connections", load.connections}, {"seconds", elapsed},
                                 {"streams", crowd.endings.good()}, {"failed", crowd.endings.failed()}};
  line["tokens"] = tokens;
  line["tokens_expected"] = std::size_t{load.connections} * load.tokens;
  line["tokens_per_second"] = static_cast<double>(tokens) / elapsed;
  line["bytes_per_token"] = tokens > 0 ? static_cast<double>(body_bytes) / static_cast<double>(tokens) : 0;
  line["delay_p50_us"] = percentile(delays.all, 0.50);
  line["delay_p99_us"] = percentile(delays.all, 0.99);
  line["delay_max_us"] = percentile(delays.all, 1);
  line["first_token_delay_p50_us"] = percentile(delays.first, 0.50);
  line["first_token_delay_p99_us"] = percentile(delays.first, 0.99);
  line["first_byte_p50_us"] = percentile(first_bytes, 0.50);
  line["first_byte_p99_us"] = percentile(first_bytes, 0.99);
  return line;
}
}  // namespace

nlohmann::ordered_json streams(asio::io_context& io, const Load& load) {
  Crowd crowd{counted_stream(load.target, load.tokens), {}, {}, load.connections, asio::steady_timer(io)};
  const auto begin = std::chrono::steady_clock::now() + nanoseconds(0.2);   // by then all are connected
  for (unsigned i = 0; i < load.connections; ++i) {
    auto& stream = *crowd.streams.emplace_back(std::make_unique<Stream>(io, load.target.port));
    const auto begins_at = begin + nanoseconds(load.ramp_seconds * i / load.connections);
    asio::co_spawn(io, follow(io, crowd, stream, begins_at), asio::detached);
  }
  crowd.deadline.expires_at(begin + nanoseconds(load.seconds));
  crowd.deadline.async_wait([&crowd](boost::system::error_code error) {
    if (error) return;
    for (const auto& stream : crowd.streams) stream->client.cut();
  });
  io.run_until(begin);
  const Spent spent(load.pid);
  io.run();
  const auto elapsed = seconds_between(begin, std::chrono::steady_clock::now());
  auto line = line_of(crowd, load, elapsed);
  const auto tokens = line["tokens"].get<double>();
  line["cpu_us_per_token"] = tokens > 0 ? kMicroseconds * spent.server_seconds() / tokens : 0;
  spent.write(line, elapsed);
  return line;
}
}  // namespace corisco::bench
