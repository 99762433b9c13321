// The requests that the load generator sends, whole with their heads.
#pragma once
#include <cstdint>
#include <string>

namespace corisco::bench {
struct Target {
  std::uint16_t port = 0;
  std::string path = "/v1/chat/completions";
  std::string key;                     // sent as a bearer token unless empty
};

// A POST of that body, which is JSON.
std::string post(const Target& target, const std::string& path, const std::string& body);

// A short conversation; scripts/bench/gateway/script.jsonl answers it with 32 tokens.
std::string small_chat(const Target& target);
// Asks for exactly that many tokens, streamed.
std::string counted_stream(const Target& target, unsigned tokens);
// A long history in one message. Each serial gives other first words, so that no cache of prefixes
// helps.
std::string large_chat(const Target& target, std::uint64_t serial);
// The message of large_chat: 60 kB of prose and code, 16 thousand tokens of SmolLM2's.
std::string large_text(std::uint64_t serial);
}  // namespace corisco::bench
