// The items of a response while its reply is sampled, and the events that tell a client of them.
// A reply that is not streamed is read by the same code, so that both say the same. Io thread; pure.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gateway/choice_stream.h"
#include "gateway/openai_responses.h"

namespace corisco::gateway {
// Events as they go on the wire, numbered over the whole stream.
class ResponsesEvents {
 public:
  void add(Json event);                  // its type is its name too
  std::string take() { return std::exchange(text_, {}); }

 private:
  std::uint64_t next_number_ = 0;
  std::string text_;
};

//   reasoning "Hm.", text "I look.", a call of ls, a call of ls
//   items: reasoning, message, function_call, function_call
// A custom tool's input, and what a shell is to do, are known when the call is whole: they come in one
// piece. A call that its form cannot hold, since the model wrote it badly, comes as a function's.
// Log-probabilities are shown of a message's text: of each token sampled since the part before, tags that
// stand between parts included; not of the end token.
class ResponsesOutput {
 public:
  struct Logprobs {
    std::shared_ptr<const text::Tokenizer> tokenizer;   // null: none are shown
    std::uint32_t num_tops = 0;
  };
  // reply_id: 16 hexadecimal digits, in the items' ids. events: null if nobody listens.
  ResponsesOutput(std::string reply_id, std::shared_ptr<const ResponsesTurn> turn, ResponsesEvents* events,
                  Logprobs logprobs)
      : reply_id_(std::move(reply_id)), turn_(std::move(turn)), events_(events), shown_(std::move(logprobs)) {}

  // What the parts that come next were sampled as.
  void add_tokens(const std::vector<SampledToken>& tokens, const std::vector<std::vector<TopLogprob>>& tops);

  void add(const ReplyPart& part);
  void end(bool is_cut);                 // is_cut: in the midst of the last item
  const Json& items() const { return items_; }   // that are closed

 private:
  enum class Open { nothing, message, reasoning, call };
  void open(Open what, const char* id_prefix, Json item);
  void announce();
  void open_message();
  void open_reasoning();
  void open_call(const ReplyPart& part);
  void open_function_call(const std::string& name, const std::string& name_space);
  Json take_logprobs(std::size_t num_tokens);
  void add_text(const char* event, const std::string& text, Json logprobs = Json::array());
  void close(bool is_whole);
  void close_message();
  void close_reasoning();
  void close_function_call();
  void close_custom_call();
  void close_action_call();
  Json event_of_item(const char* type) const;
  void tell(Json event) {
    if (events_ != nullptr) events_->add(std::move(event));
  }

  std::string reply_id_;
  std::shared_ptr<const ResponsesTurn> turn_;
  ResponsesEvents* events_;
  Logprobs shown_;
  std::deque<std::pair<SampledToken, std::vector<TopLogprob>>> untold_;   // tokens of no part yet
  Json items_ = Json::array();
  Open open_ = Open::nothing;
  Json item_;                            // while it is open
  std::string text_;                     // of the open item: text, reasoning or arguments
  Json logprobs_ = Json::array();        // of an open message
  std::string call_id_, call_name_;      // of an open call; the name as the model wrote it
  ToolForm form_ = ToolForm::function;
};
}  // namespace corisco::gateway
