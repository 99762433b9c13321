// bench_engine MODEL_FOLDER DTYPE THREADS: the engine as the benchmark's other workers are driven. Reads one JSON
// command a line, answers each with a line: its result, or {"error": text}.
//   {"op": "machine"}                        -> bytes and operations a second
//   {"op": "prefill", "ids": [...]}          -> {"seconds": s}
//   {"op": "start", "prompts": [[...], ...]} -> {"seconds": s}
//   {"op": "decode", "steps": n}             -> {"seconds": s}
//   {"op": "stop"}, {"op": "memory"}
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "corisco/base/json.h"
#include "machine.h"
#include "points.h"

namespace {
using corisco::bench::Points;
using nlohmann::json;

json machine() {
  return {{"read_1", corisco::bench::read_bytes_per_second(1)},
          {"read_2", corisco::bench::read_bytes_per_second(2)},
          {"product", corisco::bench::product_flops_per_second()}};
}

json memory(const Points& points) {
  const auto now = points.memory();
  return {{"resident_bytes", now.resident_bytes},
          {"weight_bytes", now.weight_bytes},
          {"kv_bytes_per_token", now.kv_bytes_per_token},
          {"kv_tokens", now.kv_tokens}};
}

json answer(Points& points, const json& command) {
  const auto op = command.at("op").get<std::string>();
  if (op == "machine") return machine();
  if (op == "memory") return memory(points);
  if (op == "prefill") return {{"seconds", points.prefill(command.at("ids"))}};
  if (op == "start") return {{"seconds", points.start(command.at("prompts"))}};
  if (op == "decode") return {{"seconds", points.decode(command.at("steps").get<int>())}};
  if (op != "stop") return {{"error", "unknown op " + op}};
  points.stop();
  return json::object();
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: " << argv[0] << " MODEL_FOLDER float32|bfloat16 THREADS\n";
    return 2;
  }
  auto points = Points::load(argv[1], argv[2], static_cast<std::uint32_t>(std::stoul(argv[3])));
  if (!points.ok()) {
    std::cerr << "error: " << points.error().message << '\n';
    return 1;
  }
  std::cout << "{}" << std::endl;  // ready
  for (std::string line; std::getline(std::cin, line);) {
    const json command = corisco::parse_json(line);
    if (command.is_discarded()) {
      std::cerr << "error: not JSON: " << line << '\n';
      return 2;
    }
    std::cout << corisco::json_text(answer(*points.value(), command)) << std::endl;
  }
  return 0;
}
