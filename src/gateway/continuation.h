// An attempt's calls as a tree of token prefixes: a request whose rendering goes on from an earlier
// call gets that call's exact ids, never ids encoded again from text.
// Owned by the attempt, io thread. Never encodes, decodes or reads a reply: what it cannot tell by
// comparing bytes it asks (Question).
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/types/call.h"
#include "gateway/reply_meaning.h"

namespace corisco::gateway {
//   call 0:  rendering "<u>hi<a>\n"                 ids [1 2 3]    reply "yo<e>"  ids [4 5]
//   call 1:  rendering "<u>hi<a>\n yo<e><u>ok<a>\n"  goes on from call 0, since "\n yo<e>" says what
//            "\nyo<e>" did, with the tail "<u>ok<a>\n"      ids [1 2 3 4 5] + encode("<u>ok<a>\n")
// A node's stem and turn are what it adds to its parent's text. The turn is what came back, in any of the
// forms known for it; the first one is as sampled. Siblings are retries, choices, branches.
class CallTree {
 public:
  struct Node;
  // An earlier call as a later one's beginning, or as what it differs from.
  struct Earlier {
    CallId call;
    SharedPrefix<TokenId> ids;           // prompt and reply
    SharedPrefix<char> request;          // Call.request_json
    SharedPrefix<char> messages;         // as templates take them
    SharedPrefix<char> root_stem;        // of the branch that it stands in
    std::string turn;                    // as sampled, without its end
    std::uint64_t tools_hash = 0, kwargs_hash = 0;
  };
  struct Match {
    const Node* node = nullptr;          // null: goes on from nothing
    std::size_t text_bytes = 0;          // of the rendering that the node covers
    SharedPrefix<TokenId> ids;           // of that text, as they were
    std::vector<CallId> calls;           // whose replies it contains, in their order
  };

  CallTree();
  ~CallTree();
  CallTree(CallTree&&) noexcept;
  CallTree& operator=(CallTree&&) noexcept;

  // Whether a turn of the rendering is the node's reply in a form that is not known yet.
  struct Question {
    const Node* node = nullptr;
    std::string sampled;                 // both without the end of the turn
    std::string returned;
    std::string form;                    // what a node that is matched covers
    bool has_other_end = false;          // than the reply, and not in the form
  };
  // What a rendering is looked up with. The answers are those of this rendering alone.
  struct Search {
    std::string_view rendering;
    std::string_view messages_json{};    // names tool calls; tells apart replies that read alike
    bool is_literal = false;             // a completion's prompt: bytes only, no turns
    const std::vector<std::string>* end_texts = nullptr;   // the texts that may end a turn
    std::string_view goes_on{};          // after such a text: the turn is not over; empty: it always is
    std::map<const Node*, SplitCause> refusals{};          // answers: not this node's reply
  };
  struct Found {
    Match match;                         // the longest one
    std::vector<Question> questions;     // whose answers may make it longer
    bool adds_end = false;               // for the first time, to a match that was cut by its length
    std::optional<SplitCause> refusal;   // the reply after the longest common prompt came back as another
    std::vector<const Node*> refused;    // the replies to that prompt, none of which it is
    std::optional<SplitCause> twin;      // the prompt was sampled from before, and had this cause
  };
  Found find(const Search& search) const;
  // By the ids of a prompt that came as ids; text_bytes is then that of the text as sampled.
  Match find(std::span<const TokenId> ids) const;
  // The answer to a question: it is, and this form is known from now on.
  void learn(const Question& question);

  // A call that is recorded: its prompt went on from match.
  struct Added {
    Match match;
    SharedPrefix<char> stem;             // the prompt's new text
    std::string turn_beginning;          // what followed it of the prompt: the turn's
    std::string reply;                   // decoded, control tokens kept
    std::string reply_end;               // the end token's text, with which the reply ends; may be empty
    bool is_literal = false;
    bool is_cut = false;                 // by a stop string: how it would have gone on is not known
    std::vector<std::string> tool_call_ids;
    SplitCause split = SplitCause::none;
    Earlier call;                        // its ids are those of prompt and reply
  };
  void add(Added added);
  void note_delivered(CallId call);

  bool empty() const { return in_order_.empty(); }
  Earlier earlier(const Node& node) const;
  // The newest calls that nothing goes on from yet, or that go on from this node; the newest first.
  std::vector<Earlier> newest(std::size_t num_max, const Node* node) const;
  static bool is_leaf(const Node& node);

 private:
  class Walk;
  Match match_of(const Node& found, std::size_t text_bytes) const;

  std::unique_ptr<Node> root_;
  std::vector<Node*> in_order_;          // as they were added
};
}  // namespace corisco::gateway
