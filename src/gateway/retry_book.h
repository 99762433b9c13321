// An attempt's requests and what has become of their replies, so that one that is sent again gets the
// reply that was sampled for it, and not a second one.
// Owned by the attempt; an exchange is shared by its call and by the retries that follow it. Io thread only.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "corisco/base/clock.h"
#include "corisco/gateway/ports.h"
#include "gateway/peer.h"
#include "gateway/retry_identity.h"

namespace corisco::gateway {
// A whole reply, as it was sampled.
struct KeptReply {
  std::vector<TokenId> prompt_ids;
  bool starts_in_reasoning = false;
  std::vector<std::string> call_id_seeds;   // of CallIds, by choice
  std::vector<GenerateDelta> choices;    // each in one piece
  PolicyVersion policy_version;          // that drew its last token
  std::size_t bytes() const;
};

// Which of the attempt's draws from a prompt it was: the sampling key follows from it.
struct Draw {
  std::uint64_t prompt = 0;              // hash of the ids
  std::uint64_t nth = 0;                 // how many came before it
  std::uint32_t num_given_up = 0;        // tries at it whose replies count no more
};

// A request that is answered by sampling.
struct Exchange {
  enum class Stage : std::uint8_t {
    running,
    failed,      // without a whole reply: its client left, or was told an error
    whole,       // its client left before the last byte
    delivered,
  };
  RequestIdentity identity;
  Stage stage = Stage::running;
  const Peer* peer = nullptr;            // while it runs
  std::function<void()> wake;            // the same
  std::map<std::uint64_t, std::function<void()>> attached;   // retries that wait for it or repeat it
  TimePoint given_up_from{};             // not before, as its clients wait, unless their connection is gone
  std::vector<CallId> calls;             // recorded
  std::optional<Draw> draw;              // once it is sampled
  bool hit_length = false;
  std::shared_ptr<const KeptReply> reply;   // of a whole one, or one with retries; null: given up for room

  // Nobody reads what it sends.
  bool is_left() const;
};

// The retry of an exchange, while it waits for it or repeats its reply.
class Attachment {
 public:
  Attachment(std::shared_ptr<Exchange> exchange, std::uint64_t number, std::function<void()> wake);
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  ~Attachment();
  Exchange& exchange() const { return *exchange_; }

 private:
  std::shared_ptr<Exchange> exchange_;
  std::uint64_t number_;
};

// What has ended is kept while there is room; the newest stay.
class RetryBook {
 public:
  static constexpr std::size_t kEndedMax = 32, kRepliesMax = 4, kReplyBytesMax = 8U << 20;

  // peer and wake: of its call, until it ends.
  std::shared_ptr<Exchange> begin(RequestIdentity identity, const Peer& peer, std::function<void()> wake);
  void end(const std::shared_ptr<Exchange>& exchange, Exchange::Stage stage, std::shared_ptr<const KeptReply> reply);

  // The exchange that a request like this one is the retry of; null: of none, it wants a reply of its own.
  // That is one which its client has left and no other retry follows, or, if the request bears the client's
  // retry marks, one that is not delivered and older than its client waits. A younger one whose connection
  // is there is a parallel call: this one's predecessor never came, or was answered.
  std::shared_ptr<Exchange> find(const RequestIdentity& identity, bool has_marks, TimePoint now) const;
  // One whose reply was cut by its token limit, asked again with a larger one.
  std::shared_ptr<Exchange> find_cut(const RequestIdentity& identity) const;

  // These replies were sent back to us, so they arrived: whoever asks the same now wants another one.
  void note_arrival(std::span<const CallId> calls);
  void forget(const Exchange& exchange);
  std::size_t size() const { return exchanges_.size(); }

 private:
  void make_room();

  std::list<std::shared_ptr<Exchange>> exchanges_;   // newest first
};
}  // namespace corisco::gateway
