// What the families share: text outside of calls, finding where a call opens, giving back the text
// of one that does not parse. A family reads what is between.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/tool_calls/event_list.h"
#include "gateway/tool_calls/input.h"
#include "gateway/tool_calls/parser.h"

namespace corisco::gateway::tool_calls {
enum class Step { more, done, broken };

struct Opener {
  std::string text;
  // Only with nothing but blanks before it, and text like any other if no call follows.
  bool is_weak = false;
};

class CallParser : public Parser {
 public:
  explicit CallParser(std::vector<Opener> openers) : openers_(std::move(openers)) {}
  std::vector<Event> push(std::string_view piece) final;
  std::vector<Event> finish() final;

 protected:
  // The opener of that number was consumed: a new call (or a list of calls).
  virtual void open(std::size_t opener) = 0;
  // Consumes what has come of the call; more: all of it so far. It must depend on nothing but the
  // bytes consumed, and is called again with more of them.
  virtual Step read() = 0;

  Step fail(std::string what);
  // A list goes on: what comes from begin on belongs to its next call, and is what is given back,
  // read again from resume on, if that does not parse.
  void next_call(std::size_t begin, std::size_t resume);
  // What has been consumed opened this call, and is not looked at again if it does not parse.
  void resume_here() { resume_ = input_.position(); }
  // A section of calls has begun: blanks, and what opens its first call. Done: that call is read from here on.
  Step read_first_call(std::string_view marker);
  // After a whole call: its end markers, with blanks before each. Something else there is an error,
  // and text; the reply's end is fine.
  Step read_end(std::initializer_list<std::string_view> markers);
  bool had_call() const { return had_call_; }

  Input input_;
  EventList out_;

 private:
  struct Found {
    std::size_t at = std::string_view::npos;
    std::size_t opener = 0;
  };
  Found find_opener(std::string_view text) const;
  std::size_t held_bytes(std::string_view text) const;
  std::vector<Event> run();
  bool read_text();
  bool read_on();
  void start_call(const Found& found);
  void show(std::size_t bytes);
  void give_back();

  std::vector<Opener> openers_;
  bool is_in_call_ = false;
  bool is_beside_call_ = true;           // only blanks since the reply's start or the last call
  bool had_call_ = false;
  bool is_weak_ = false;                 // the open call's opener is
  std::string problem_;
  std::size_t begin_ = 0;                // of the open call, blanks before it included
  std::size_t resume_ = 0;               // where reading as text goes on if it does not parse
  std::size_t broken_end_ = 0;           // text before it was read as a call that did not parse
};

// A call that is read part by part; At names the parts.
template <class At>
class PartedParser : public CallParser {
 protected:
  using CallParser::CallParser;
  Step read() override {
    while (true) {
      const auto before = at_;
      const auto step = read_part();
      if (step != Step::done || at_ == before) return step;
    }
  }
  // Reads the part at_. Done: goes on at another part, or, at the same one, the call is over.
  virtual Step read_part() = 0;
  Step go(At at) {
    at_ = at;
    return Step::done;
  }

  At at_{};
};
}  // namespace corisco::gateway::tool_calls
