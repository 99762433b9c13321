#include "chat_request.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::bench {
namespace {
using nlohmann::ordered_json;
constexpr std::size_t kLargeBytes = 60000;

ordered_json message(const char* role, std::string text) { return {{"role", role}, {"content", std::move(text)}}; }

std::string chat(const Target& target, std::string text, unsigned max_tokens, bool streamed) {
  const auto messages = ordered_json::array({message("system", "You are a helpful assistant."),
                                             message("user", std::move(text))});
  ordered_json body = {{"model", "scripted"}, {"messages", messages}, {"max_tokens", max_tokens}};
  if (streamed) body["stream"] = true;
  return post(target, target.path, json_text(body));
}

// A simple generator, so that the text is the same everywhere.
class Draw {
 public:
  std::size_t below(std::size_t limit) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state_ >> 33U) % limit;
  }

 private:
  std::uint64_t state_ = 1;
};

constexpr std::array kWords = {
    "the", "request", "of", "returns", "a", "buffer", "when", "server", "is", "closed", "and", "test", "failed",
    "because", "file", "was", "opened", "twice", "by", "thread", "that", "should", "have", "waited", "for", "lock",
    "each", "value", "must", "be", "checked", "before", "writing", "it", "to", "disk", "otherwise", "index",
    "points", "past", "end", "segmentation", "compiler", "warns", "about", "unused", "variable", "in", "function",
    "parse", "token", "stream", "while", "loop", "runs", "until", "queue", "empty", "then", "sleeps", "we", "can",
    "see", "from", "log", "there", "are", "three", "errors", "first", "one", "comes", "old", "version", "library"};

std::string prose_and_code() {
  Draw draw;
  std::string text;
  while (text.size() < kLargeBytes) {
    if (draw.below(2) == 0) {
      const auto* const word = kWords[draw.below(kWords.size())];
      text += cat("    row_", draw.below(100), " = compute(", draw.below(1000), ", \"", word, "\");\n");
    } else {
      for (std::size_t i = 8 + draw.below(8); i > 0; --i) text += cat(kWords[draw.below(kWords.size())], " ");
      text += "done.\n";
    }
  }
  return text;
}
}  // namespace

std::string post(const Target& target, const std::string& path, const std::string& body) {
  const auto key = target.key.empty() ? std::string() : cat("Authorization: Bearer ", target.key, "\r\n");
  return cat("POST ", path, " HTTP/1.1\r\nHost: 127.0.0.1:", target.port, "\r\nContent-Type: application/json\r\n",
             key, "Content-Length: ", body.size(), "\r\n\r\n", body);
}

std::string small_chat(const Target& target) {
  return chat(target, "Say hello, and ask what to do.", 64, false);
}

std::string counted_stream(const Target& target, unsigned tokens) {
  return chat(target, "Count aloud, without blanks.", tokens, true);
}

std::string large_chat(const Target& target, std::uint64_t serial) {
  return chat(target, large_text(serial), 64, false);
}

std::string large_text(std::uint64_t serial) {
  static const std::string text = prose_and_code();
  return cat("Session ", serial, ".\n", text);
}
}  // namespace corisco::bench
