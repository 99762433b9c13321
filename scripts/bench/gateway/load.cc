// The load generator of the gateway's benchmark: one thread, one kind of load on one server, one JSON
// line with what it measured. Loopback only; ends by itself.
//   bench_gateway_load small --port 8080 --pid 123 --connections 32
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "measures.h"

namespace {
using corisco::bench::Load;

void describe(CLI::App& app, Load& load) {
  app.require_subcommand(1);
  app.add_option("--port", load.target.port, "of the server on 127.0.0.1")->required();
  app.add_option("--path", load.target.path, "of chat completions")->capture_default_str();
  app.add_option("--key", load.target.key, "sent as a bearer token");
  app.add_option("--pid", load.pid, "of the server: its processor time and memory are looked at");
  app.add_option("--connections", load.connections, "at once")->capture_default_str();
  app.add_option("--seconds", load.seconds, "of a closed loop; at most so long otherwise")->capture_default_str();
  app.add_option("--tokens", load.tokens, "of each stream")->capture_default_str();
  app.add_option("--rate", load.rate, "tokens a second that the server gives each stream")->capture_default_str();
  app.add_option("--ramp-seconds", load.ramp_seconds, "over which streams begin")->capture_default_str();
  app.add_option("--waves", load.waves, "of held connections")->capture_default_str();
  app.add_option("--admin-key", load.admin_key, "for the gate");
  app.add_flag("--stream", load.streamed, "small: streams of one token instead, for their first byte");
  app.add_flag("--hold", load.hold, "held: close the gate while the connections come");
  app.add_subcommand("small", "a closed loop of short chats")->fallthrough();
  app.add_subcommand("large", "a closed loop of chats of 60 kB, each another")->fallthrough();
  app.add_subcommand("streams", "streams at the server's rate, all at once")->fallthrough();
  app.add_subcommand("held", "connections that wait or stream at one time")->fallthrough();
}

nlohmann::ordered_json measure(const std::string& mode, const Load& load) {
  boost::asio::io_context io(1);
  if (mode == "small") return corisco::bench::small(io, load);
  if (mode == "large") return corisco::bench::large(io, load);
  if (mode == "streams") return corisco::bench::streams(io, load);
  return corisco::bench::held(io, load);
}
}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Puts one kind of load on a server and prints what it measured as a JSON line.");
  Load load;
  describe(app, load);
  CLI11_PARSE(app, argc, argv);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const auto mode = app.get_subcommands().front()->get_name();
  try {
    nlohmann::ordered_json line = {{"mode", mode}};
    line.update(measure(mode, load));
    std::puts(corisco::json_text(line).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
