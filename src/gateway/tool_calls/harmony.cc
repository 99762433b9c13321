// gpt-oss (harmony): a reply is messages, the first of which begins in its head, since the prompt ends with
// <|start|>assistant:
//   <|channel|>analysis<|message|>...<|end|>                                                   reasoning
//   <|start|>assistant<|channel|>commentary<|message|>...<|end|>                               text (so is final)
//   <|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{...}<|call|>
//   <|start|>assistant to=functions.NAME<|channel|>commentary json<|message|>{...}<|call|>
// <|return|> and <|call|> end a reply. What is not told apart (calls, if the request has no tools) is text as
// it was written, markers included.
#include <algorithm>

#include "corisco/base/strings.h"
#include "gateway/tool_calls/families.h"
#include "gateway/tool_calls/harmony_header.h"
#include "gateway/tool_calls/json_call.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr std::string_view kStart = "<|start|>", kChannel = "<|channel|>", kMessage = "<|message|>";
constexpr std::string_view kEnds[] = {"<|end|>", "<|call|>", "<|return|>"};
constexpr std::string_view kNexts[] = {kStart, kChannel};   // a message that begins before the last one's end
constexpr std::size_t kHeaderBytesMax = 256;

std::vector<Opener> openers() {
  return {{std::string(kStart)}, {std::string(kChannel)}, {std::string(kMessage), true}, {"to=", true}};
}

enum class At { header, arguments, arguments_end, body };
enum class Body { text, reasoning, as_written };

class Harmony final : public PartedParser<At> {
 public:
  Harmony(bool reads_calls, bool tells_reasoning)
      : PartedParser(openers()), reads_calls_(reads_calls), tells_reasoning_(tells_reasoning) {}

 private:
  struct End {
    std::size_t at = std::string_view::npos;
    std::string_view marker;             // empty: a message begins there
  };

  void open(std::size_t opener) override {
    at_ = At::header;
    has_role_ = opener == 0;
    if (opener == 0) return;
    const std::string_view kOpeners[] = {kStart, kChannel, kMessage, "to="};
    input_.go_to(input_.position() - kOpeners[opener].size());   // is part of the head
  }
  Step read_part() override {
    switch (at_) {
      case At::header: return read_header();
      case At::arguments: return read_arguments();
      case At::arguments_end: return read_arguments_end();
      case At::body: return read_body();
    }
    return Step::broken;
  }
  Step read_header() {
    const auto rest = input_.rest();
    const auto length = rest.find(kMessage);
    const auto text = rest.substr(0, length);
    const bool is_whole = length != std::string_view::npos;
    if (has_end_within(text) || text.size() > kHeaderBytesMax + (is_whole ? 0 : kMessage.size()))
      return fail("a message has no <|message|> after its head");
    if (!is_whole) return Step::more;
    const auto header = read_harmony_header(text);
    if (has_role_ && header.role != "assistant") return fail("a message is not the assistant's");
    begin_message(header, length + kMessage.size());
    return Step::done;
  }
  // No head goes on over these.
  static bool has_end_within(std::string_view text) {
    if (text.find('\n') != std::string_view::npos || text.find(kStart) != std::string_view::npos) return true;
    for (const auto end : kEnds)
      if (text.find(end) != std::string_view::npos) return true;
    return false;
  }
  void begin_message(const HarmonyHeader& header, std::size_t bytes) {
    const auto tool = header.tool();
    const bool is_reasoning = !tool && header.channel == "analysis";
    const bool is_told_apart = tool ? reads_calls_ : tells_reasoning_ || !is_reasoning;
    body_ = !is_told_apart ? Body::as_written : is_reasoning ? Body::reasoning : Body::text;
    tool_ = tool.value_or("");
    arguments_ = JsonArguments(tool_);
    const auto begin = input_.position();
    input_.skip(bytes);
    if (tool && reads_calls_) {
      resume_here();
      at_ = At::arguments;
      return;
    }
    if (!is_told_apart) out_.text(cat(has_role_ ? kStart : "", input_.between(begin, input_.position())), false);
    at_ = At::body;
  }
  Step read_arguments() {
    const auto none = out_.is_in_call() ? Match::no : find_end_marker().match;
    if (none == Match::more && !input_.is_last()) return Step::more;
    if (none != Match::no) {             // a call with nothing in it has no arguments
      out_.begin(tool_);
      out_.arguments("{}");
      out_.end();
      return go(At::arguments_end);
    }
    const auto step = arguments_.read(input_, out_);
    if (step == Step::broken) return fail(arguments_.problem());
    return step == Step::done ? go(At::arguments_end) : step;
  }
  Step read_arguments_end() {
    const auto end = find_end_marker();
    if (end.match == Match::more && !input_.is_last()) return Step::more;
    if (end.match == Match::no) out_.error("no <|call|> after the call", out_.index());
    if (end.match == Match::more) input_.skip(input_.rest().size());   // blanks, or half a marker
    if (end.match == Match::yes) input_.skip(end.bytes);
    return Step::done;
  }
  struct EndMarker {
    Match match = Match::no;
    std::size_t bytes = 0;               // with the blanks before it; 0: a message begins there
  };
  // Whether nothing but blanks stands before what ends a message. More: that is not known yet.
  EndMarker find_end_marker() const {
    const auto blanks = count_blanks(input_.rest());
    EndMarker found;
    const auto look_for = [&](std::string_view marker, std::size_t bytes) {
      const auto match = input_.starts_with(marker, blanks);
      if (match == Match::yes) found = {match, bytes};
      if (match == Match::more) found.match = match;
    };
    for (const auto marker : kEnds) look_for(marker, blanks + marker.size());
    for (const auto marker : kNexts) look_for(marker, 0);
    return found;
  }
  // Shows what has come; ends with the message, or with the reply.
  Step read_body() {
    const auto end = find_end();
    const bool is_end = end.at != std::string_view::npos;
    const auto rest = input_.rest();
    const auto shown = is_end ? end.at : rest.size() - (input_.is_last() ? 0 : held_bytes(rest));
    show_body(rest.substr(0, shown));
    if (is_end && body_ == Body::as_written) show_body(end.marker);
    input_.skip(is_end ? shown + end.marker.size() : shown);
    return is_end || input_.is_last() ? Step::done : Step::more;
  }
  void show_body(std::string_view text) {
    if (body_ == Body::reasoning) out_.reasoning(text);
    else out_.text(text, false);
  }
  // The first marker that ends a message.
  End find_end() const {
    const auto rest = input_.rest();
    End first;
    for (auto at = rest.find("<|"); at != std::string_view::npos && first.at == std::string_view::npos;
         at = rest.find("<|", at + 1)) {
      const auto there = rest.substr(at);
      for (const auto marker : kEnds)
        if (starts_with(there, marker)) first = {at, marker};
      for (const auto marker : kNexts)
        if (starts_with(there, marker)) first = {at, {}};
    }
    return first;
  }
  static std::size_t held_bytes(std::string_view rest) {
    std::size_t held = 0;
    for (const auto marker : kEnds) held = std::max(held, partial_suffix(rest, marker));
    for (const auto marker : kNexts) held = std::max(held, partial_suffix(rest, marker));
    return held;
  }

  bool reads_calls_, tells_reasoning_;
  bool has_role_ = false;                // <|start|> came before the head
  Body body_ = Body::text;
  std::string tool_;                     // of a call
  JsonArguments arguments_;
};
}  // namespace

std::unique_ptr<Parser> make_harmony_parser(bool reads_calls, bool tells_reasoning) {
  return std::make_unique<Harmony>(reads_calls, tells_reasoning);
}
}  // namespace corisco::gateway::tool_calls
