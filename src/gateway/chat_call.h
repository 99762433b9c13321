// One chat call in any wire format, from its body to its last byte: parse, caps, gate, prompt,
// sequences in the engine, text out, record, delivery. Or, if it is sent again, the reply that was sampled
// for it, by the same steps without the engine. Lives in its connection's coroutine.
//
// It waits in one place (wait) for: a turn at the gate, deltas of its sequences, the peer's going,
// its attempt's closing, and the time for a sign of life. Whatever happens, what was sampled is
// recorded, every sequence is finished or cancelled, and the gate is left. Its peer's going ends it within
// a decode step, unless a retry waits for its reply.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/attempt_state.h"
#include "gateway/auth.h"
#include "gateway/call_context.h"
#include "gateway/chat_prompt.h"
#include "gateway/choice_stream.h"
#include "gateway/reply_reading.h"
#include "gateway/reply_writer.h"
#include "gateway/sampling_policy.h"
#include "gateway/wire_format.h"

namespace corisco::gateway {
class ChatCall {
 public:
  // What the head says of the request.
  struct Marks {
    RetryMarks retry{};
    bool is_subagents = false;
  };
  // context, format and reply outlive it.
  ChatCall(CallContext& context, const WireFormat& format, Caller caller, ReplyWriter& reply, Marks marks);
  ChatCall(const ChatCall&) = delete;
  ChatCall& operator=(const ChatCall&) = delete;
  ~ChatCall();
  boost::asio::awaitable<void> run(RequestBody body);

 private:
  using Failure = std::optional<ApiError>;
  struct Choice {
    Choice(ChoiceStream out, SamplingParams params) : stream(std::move(out)), sampling(std::move(params)) {}
    ChoiceStream stream;
    SamplingParams sampling;
    std::optional<RequestId> sequence;   // while the engine works on it
    bool is_recorded = false;
  };

  boost::asio::awaitable<Failure> answer(RequestBody body);
  boost::asio::awaitable<Failure> parse(RequestBody body);
  Failure take(ChatRequest request);
  boost::asio::awaitable<Failure> follow_earlier();
  void supersede(const Exchange& earlier);
  boost::asio::awaitable<Failure> repeat();
  void settle();
  std::shared_ptr<const KeptReply> keep_reply() const;
  bool admit();
  boost::asio::awaitable<Failure> keep_to_rate();
  boost::asio::awaitable<Failure> end_harness();
  boost::asio::awaitable<Failure> pass_gate();
  boost::asio::awaitable<Failure> prepare();
  boost::asio::awaitable<Failure> make_grammar();
  void note_continuation();
  using Parsers = std::vector<std::unique_ptr<tool_calls::Parser>>;   // one per choice
  boost::asio::awaitable<Parsers> make_parsers(bool starts_in_reasoning);
  Failure plan_choices(Parsers parsers);
  void plan_draw();
  std::string call_id_seed(std::uint32_t choice) const;
  void add_choice(std::unique_ptr<tool_calls::Parser> parser, SamplingParams sampling, std::string call_id_seed);
  std::uint64_t key_of(std::uint32_t choice, bool uses_client_seed) const;
  Failure submit();
  void on_delta(std::uint32_t choice, GenerateDelta delta);
  boost::asio::awaitable<Failure> generate();
  boost::asio::awaitable<Failure> begin_stream();
  boost::asio::awaitable<Failure> await_scored_prompt();
  boost::asio::awaitable<Failure> take(std::uint32_t choice, GenerateDelta delta);
  boost::asio::awaitable<Failure> flush();
  boost::asio::awaitable<Failure> deliver();
  // Shared with the text thread, which writes what is long.
  using Streams = std::shared_ptr<const std::vector<ChoiceStream>>;
  boost::asio::awaitable<std::string> openings_text();
  boost::asio::awaitable<std::string> ending_text(std::uint32_t choice);
  boost::asio::awaitable<std::string> done_text(Streams streams, Usage usage);
  boost::asio::awaitable<std::string> whole_text(Streams streams);
  // The whole reply, or a stream's last bytes. False: the peer is gone.
  boost::asio::awaitable<bool> send_last(Streams streams, Usage usage);

  Call make_call(std::uint32_t choice);
  CallState state_of(const ChoiceStream& choice, bool is_left_out) const;
  SideCalls::Facts side_facts() const;
  boost::asio::awaitable<Failure> record(std::uint32_t choice);
  void learn_from_recorded(std::uint32_t choice, CallId call, CallState state);
  bool is_frozen() const { return request_.role == ModelRole::frozen; }
  bool watches_models() const;
  void note_model(CallId call, CallState state);
  void note_side_calls(const std::vector<CallId>& side);
  void settle_models();
  boost::asio::awaitable<void> abandon();
  boost::asio::awaitable<void> tell(ApiError error);
  void tell_at_once(const ApiError& error);
  void note_machine_error(const Error& error);
  void mark_recorded();

  // Consumes nothing; returns when notified, after a sign of life was sent, or at the moment.
  boost::asio::awaitable<void> wait(TimePoint until = TimePoint::max());
  boost::asio::awaitable<void> send_heartbeat();
  Failure interrupted() const;
  bool is_peer_gone() const { return reply_.peer().is_gone(); }
  void cancel(Choice& choice);
  bool is_generating() const;
  void begin_hold();
  void end_hold();
  const AttemptOpening* opening() const { return attempt_ ? &attempt_->opening : nullptr; }

  CallContext& context_;
  const ServerParts& parts_;
  const WireFormat& format_;
  std::shared_ptr<AttemptState> attempt_;    // null: outside any rollout
  ReplyWriter& reply_;
  Signal signal_;
  const Duration heartbeat_;             // the longest silence once the reply has begun
  TimePoint next_heartbeat_;
  double started_unix_seconds_;
  std::uint64_t number_;                     // among the attempt's running calls
  std::uint32_t turn_ = 0;
  bool is_early_ = false;                    // as SideCalls means it
  bool is_held_ = false;
  bool is_waiting_ = false;              // in wait(): nothing is being written
  coordinator::Gate::Pass pass_;
  ChatRequest request_;
  std::shared_ptr<ChatReply> wire_;          // from the parsed request on; the text thread has it while it writes
  Prompt prompt_;
  std::shared_ptr<const text::Grammar> grammar_;   // that the reply must obey; null: none
  std::vector<Choice> choices_;
  std::vector<std::string> call_id_seeds_;   // by choice
  std::deque<std::pair<std::uint32_t, GenerateDelta>> deltas_;   // not yet taken
  std::string unsent_;                       // of the stream
  std::vector<CallId> recorded_;
  bool is_delivered_ = false;

  const Marks marks_;
  const TimePoint given_up_from_;            // its client waits as long, if it says how long it waits
  RequestIdentity identity_;
  std::optional<Attachment> earlier_;        // whose reply this call waits for, or repeats
  std::shared_ptr<Exchange> exchange_;       // of its own, from its sampling on until it is settled
  std::optional<Draw> draw_;
  bool repeats_draw_ = false;                // draw_ was an earlier try's
};
}  // namespace corisco::gateway
