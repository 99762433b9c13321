// What reading a reply costs: each family's parser over the replies of replies.py, piece by piece as they are
// sampled, and whole. Prints a JSON line per family.
//   bench_parsers REPLIES [SECONDS]     SECONDS: per measurement, 0.5
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "gateway/tool_calls/parser.h"

namespace corisco::bench {
namespace {
using gateway::tool_calls::Event;
using Json = nlohmann::ordered_json;
using Steady = std::chrono::steady_clock;
using Replies = std::vector<std::vector<std::string>>;   // each in pieces

struct Pass {
  std::size_t num_bytes = 0, num_pieces = 0, num_calls = 0, num_errors = 0;
  double seconds = 0;
};

void count(const std::vector<Event>& events, Pass& pass) {
  for (const auto& event : events) {
    pass.num_calls += event.kind == Event::Kind::call_end && !event.is_broken ? 1 : 0;
    pass.num_errors += event.kind == Event::Kind::parse_error ? 1 : 0;
  }
}

// Reads all replies again and again, each with a parser of its own, for that long at least.
Pass measure(const std::string& family, const Json& tools, const Replies& replies, double seconds_min) {
  Pass pass;
  const auto begin = Steady::now();
  while (pass.seconds < seconds_min) {
    for (const auto& reply : replies) {
      const auto parser = std::move(gateway::tool_calls::make_tool_parser(family, tools)).value();
      for (const auto& piece : reply) {
        count(parser->push(piece), pass);
        pass.num_bytes += piece.size();
      }
      count(parser->finish(), pass);
      pass.num_pieces += reply.size();
    }
    pass.seconds = std::chrono::duration<double>(Steady::now() - begin).count();
  }
  return pass;
}

Replies joined(const Replies& replies) {
  Replies all;
  for (const auto& pieces : replies) {
    all.emplace_back(1);
    for (const auto& piece : pieces) all.back().front() += piece;
  }
  return all;
}

void print(const std::string& family, const Pass& streamed, const Pass& whole) {
  const auto bytes = static_cast<double>(streamed.num_bytes);
  Json line;
  line["family"] = family;
  line["calls_per_kilobyte"] = static_cast<double>(streamed.num_calls) / (bytes / 1000);
  line["errors"] = streamed.num_errors + whole.num_errors;
  line["streamed_megabytes_per_second"] = bytes / streamed.seconds / 1e6;
  line["microseconds_per_token"] = streamed.seconds * 1e6 / static_cast<double>(streamed.num_pieces);
  line["whole_megabytes_per_second"] = static_cast<double>(whole.num_bytes) / whole.seconds / 1e6;
  std::puts(json_text(line).c_str());
  std::fflush(stdout);
}

int run(const std::string& path, double seconds) {
  const auto text = files::read(path);
  if (!text.ok()) {
    std::fputs(cat("error: ", text.error().message, "\n").c_str(), stderr);
    return 1;
  }
  const auto input = parse_ordered_json(text.value());
  if (!input.is_object()) {
    std::fputs(cat("error: ", path, " is no file of replies.py\n").c_str(), stderr);
    return 1;
  }
  for (const auto& [family, value] : input["families"].items()) {
    const auto replies = value.get<Replies>();
    const auto streamed = measure(family, input["tools"], replies, seconds);
    print(family, streamed, measure(family, input["tools"], joined(replies), seconds));
  }
  return 0;
}
}  // namespace
}  // namespace corisco::bench

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fputs("usage: bench_parsers REPLIES [SECONDS]\n", stderr);
    return 2;
  }
  return corisco::bench::run(argv[1], argc == 3 ? std::atof(argv[2]) : 0.5);
}
