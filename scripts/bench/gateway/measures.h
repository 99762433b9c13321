// What the load generator can measure; each returns the fields of its JSON line. They run the given
// io_context to its end on the calling thread, the only one.
#pragma once
#include <boost/asio/io_context.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "chat_request.h"

namespace corisco::bench {
struct Load {
  Target target;
  int pid = 0;                         // of the server, for its processor time and memory; 0: not looked at
  unsigned connections = 1;
  double seconds = 3;                  // of a closed loop; at most so long of streams
  bool streamed = false;               // a closed loop of streams of one token, for their first byte
  unsigned tokens = 150;               // of each stream
  double rate = 50;                    // at which the server gives each stream its tokens, a second
  double ramp_seconds = 1;             // over which streams begin
  unsigned waves = 2;                  // of held connections
  bool hold = false;                   // close the server's gate while the connections come
  std::string admin_key;
};

// Each connection posts again as soon as it has its reply: calls per second, latency, processor time.
nlohmann::ordered_json small(boost::asio::io_context& io, const Load& load);
nlohmann::ordered_json large(boost::asio::io_context& io, const Load& load);
// Many streams at once: how far behind its schedule each token comes.
nlohmann::ordered_json streams(boost::asio::io_context& io, const Load& load);
// Waves of connections that all wait or stream at one time: the server's memory before, at and after.
nlohmann::ordered_json held(boost::asio::io_context& io, const Load& load);
}  // namespace corisco::bench
