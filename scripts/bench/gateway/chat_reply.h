// The fixed replies of the echo server, in the shape of OpenAI's chat completions, so that proxies
// take them for a model's. Each is made once and then only written.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace corisco::bench {
// What decides the reply, found in the body by its keys; the body is not parsed.
struct Wish {
  bool streamed = false;
  bool with_ids = false;               // return_token_ids, as vLLM names it
  unsigned max_tokens = 0;
};
Wish wish_of(std::string_view body);

class ChatReplies {
 public:
  // Whole replies have at least reply_bytes, frames of streams frame_bytes, filled up with text.
  ChatReplies(std::size_t reply_bytes, std::size_t frame_bytes);
  // With ids: also those that a model server adds, an id for each four bytes of the prompt.
  const std::string& whole(const Wish& wish, std::size_t body_bytes);
  const std::string& frame() const { return frame_; }    // of one token, as an HTTP chunk
  const std::string& ending() const { return ending_; }  // the last frame, [DONE] and the last chunk
  static unsigned tokens() { return 32; }                // of a whole reply

 private:
  std::string plain_, frame_, ending_;
  std::map<std::size_t, std::string> with_ids_;          // by the number of prompt ids
};
}  // namespace corisco::bench
