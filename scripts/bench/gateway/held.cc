#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <stdexcept>
#include <vector>

#include "corisco/base/strings.h"
#include "measures.h"
#include "tally.h"

namespace corisco::bench {
namespace asio = boost::asio;
namespace {
using std::chrono::milliseconds;
constexpr auto kSettle = milliseconds(1000);      // after the last request, before the gate opens
constexpr auto kLook = milliseconds(50);          // between two looks at the server's memory
constexpr unsigned kBurst = 50;                   // connections that come at once

struct Member {
  Member(asio::io_context& io, std::uint16_t port) : client(io, port) {}
  Client client;
  Events events;
  Outcome outcome;
  bool has_ended = false;
};

struct Wave {
  std::vector<std::unique_ptr<Member>> members;
  Endings endings;
  std::size_t running = 0;
  std::uint64_t peak_bytes = 0;
  std::size_t together = 0;            // most members that streamed, or waited, at one time
  bool is_watched = true;
};

asio::awaitable<void> sleep(asio::io_context& io, milliseconds time) {
  asio::steady_timer timer(io, time);
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

asio::awaitable<void> take_part(Wave& wave, Member& member, const std::string& request) {
  member.outcome = co_await member.client.call(request, &member.events);
  member.has_ended = true;
  wave.endings.count(member.outcome);
  --wave.running;
}

asio::awaitable<void> watch_memory(asio::io_context& io, Wave& wave, int pid) {
  while (wave.is_watched) {
    wave.peak_bytes = std::max(wave.peak_bytes, resident_bytes(pid));
    const auto is_streaming = [](const auto& member) {
      return !member->has_ended && !member->events.token_times().empty();
    };
    const auto streaming = std::count_if(wave.members.begin(), wave.members.end(), is_streaming);
    wave.together = std::max(wave.together, static_cast<std::size_t>(streaming));
    co_await sleep(io, kLook);
  }
}

asio::awaitable<void> gate(asio::io_context& io, const Load& load, const char* verb) {
  const auto client = std::make_unique<Client>(io, load.target.port);
  const auto request = post({load.target.port, {}, load.admin_key}, cat("/admin/", verb), "{}");
  const Outcome outcome = co_await client->call(request, nullptr);
  if (outcome.status != 200) throw std::runtime_error(cat("/admin/", verb, " answered with status ", outcome.status));
}

asio::awaitable<void> run_wave(asio::io_context& io, const Load& load, Wave& wave) {
  const auto request = counted_stream(load.target, load.tokens);
  if (load.hold) co_await gate(io, load, "pause");
  asio::co_spawn(io, watch_memory(io, wave, load.pid), asio::detached);
  for (unsigned i = 0; i < load.connections; ++i) {
    auto& member = *wave.members.emplace_back(std::make_unique<Member>(io, load.target.port));
    ++wave.running;
    asio::co_spawn(io, take_part(wave, member, request), asio::detached);
    if (i % kBurst == kBurst - 1) co_await sleep(io, milliseconds(10));
  }
  if (load.hold) {
    co_await sleep(io, kSettle);
    wave.together = wave.running;
    wave.peak_bytes = resident_bytes(load.pid);   // held alone, without what their streams need then
    wave.is_watched = false;
    co_await gate(io, load, "resume");
  }
  while (wave.running > 0) co_await sleep(io, kLook);
  wave.is_watched = false;
}

asio::awaitable<void> run_waves(asio::io_context& io, const Load& load, nlohmann::ordered_json& line) {
  const auto before = resident_bytes(load.pid);
  line["resident_before_bytes"] = before;
  line["waves"] = nlohmann::ordered_json::array();
  for (unsigned i = 0; i < load.waves; ++i) {
    Wave wave;
    co_await run_wave(io, load, wave);
    wave.members.clear();              // their connections close
    co_await sleep(io, kSettle);       // the watch ends and the server forgets them
    const auto after = resident_bytes(load.pid);
    line["waves"].push_back({{"completed", wave.endings.good()}, {"failed", wave.endings.failed()},
                             {"together", wave.together}, {"resident_peak_bytes", wave.peak_bytes},
                             {"resident_after_bytes", after}});
    const double more = static_cast<double>(wave.peak_bytes) - static_cast<double>(before);
    if (i == 0) line["bytes_per_connection"] = more / load.connections;
  }
}
}  // namespace

nlohmann::ordered_json held(asio::io_context& io, const Load& load) {
  nlohmann::ordered_json line = {{"connections", load.connections}, {"hold", load.hold}};
  std::exception_ptr failure;
  const auto begin = std::chrono::steady_clock::now();
  asio::co_spawn(io, run_waves(io, load, line), [&failure, &io](std::exception_ptr thrown) {
    failure = std::move(thrown);
    io.stop();
  });
  io.run_until(begin + nanoseconds(load.seconds));
  if (failure) std::rethrow_exception(failure);
  if (!io.stopped()) line["failed"] = "not all were answered in time";
  return line;
}
}  // namespace corisco::bench
