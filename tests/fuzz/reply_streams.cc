// Replies of any sampled bytes in every wire format: each piece of a stream is whole events of valid
// JSON, and together they say what the unstreamed reply says.
#include "fuzz/shown_reply.h"
#include "gateway/fakes.h"
#include "gateway/reply_reading.h"
#include "gateway/wire_format.h"

namespace corisco::gateway {
namespace {
constexpr RouteKind kKinds[] = {RouteKind::chat_completions, RouteKind::completions, RouteKind::messages,
                                RouteKind::responses};
constexpr const char* kFamilies[] = {"",        "hermes",      "qwen3_coder", "llama3_json",
                                     "mistral", "deepseek_v3", "glm45",       "pythonic",
                                     "deepseek_v32", "kimi_k2", "gemma",     "openai"};
constexpr const char* kTools = R"([{"type": "function", "function": {"name": "f"}}])";
constexpr const char* kMessages = R"("messages": [{"role": "user", "content": "hi"}])";
constexpr const char* kInput = R"("input": "hi", "tools": [{"type": "function", "name": "f"},
  {"type": "custom", "name": "g"}, {"type": "shell"}])";

struct Options {
  RouteKind kind;
  const char* family;
  bool has_reasoning, is_in_reasoning, has_stop, returns_ids, is_cut_short;
  std::uint32_t seed;

  FinishReason finish() const { return is_cut_short ? FinishReason::length : FinishReason::stop; }
};

GenerateDelta delta_of(std::string_view bytes) {
  GenerateDelta delta;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    delta.tokens.push_back({byte == 0xff ? fakes::kEnd : byte, -0.5F, -0.5F, {}});
  }
  return delta;
}

ChoiceStream stream_for(const Options& options) {
  ReplySyntax syntax;
  syntax.tool_parser = options.family;
  syntax.has_reasoning = options.has_reasoning;
  auto parsers = make_reply_parsers(syntax, *options.family != '\0' ? kTools : "", options.is_in_reasoning, 1);
  ReplyReading reading;
  if (options.kind != RouteKind::completions) reading.parser = std::move(parsers.front());
  std::vector<std::string> stops;
  if (options.has_stop) stops = {"STOP", "\n\n\n"};
  return ChoiceStream(std::make_shared<fakes::ByteTokenizer>(), stops, {fakes::kEnd}, std::move(reading));
}

std::unique_ptr<ChatReply> reply_for(const Options& options, bool is_stream) {
  const auto* format = wire_format_of(options.kind);
  const char* conversation = options.kind == RouteKind::completions ? R"("prompt": "hi")"
                             : options.kind == RouteKind::responses ? kInput
                                                                    : kMessages;
  const auto body = cat("{\"max_tokens\": 9, \"stream\": ", is_stream ? "true" : "false", ", ", conversation, "}");
  auto parsed = format->parse(body, ChatLimits{});
  require(std::holds_alternative<ChatRequest>(parsed), "a plain request refused");
  auto& request = std::get<ChatRequest>(parsed);
  request.includes_usage = is_stream;
  request.returns_token_ids = request.returns_logprobs = options.returns_ids;
  ReplyOrigin origin{"0123456789abcdef", "any", 1.5, std::make_shared<fakes::ByteTokenizer>()};
  return format->start_reply(std::move(origin), request);
}

// Takes each piece of a stream apart alone, since it may be all that a client has for a while.
class Client {
 public:
  explicit Client(RouteKind kind) : kind_(kind) {}
  void take(const std::string& bytes) {
    for (auto& event : events_of(bytes)) {
      if (kind_ == RouteKind::responses)
        require(event["sequence_number"] == num_events_, "event ", num_events_, " is numbered otherwise");
      ++num_events_;
      add_event(event, kind_, shown_);
      last_ = std::move(event);
    }
  }
  const Shown& shown() const { return shown_; }
  const Json& last() const { return last_; }

 private:
  RouteKind kind_;
  std::size_t num_events_ = 0;
  Shown shown_;
  Json last_;
};

Client streamed(const Options& options, std::string_view sampled) {
  Client client(options.kind);
  auto stream = stream_for(options);
  const auto reply = reply_for(options, true);
  if (options.seed % 3 == 1) client.take(reply->heartbeat());
  client.take(reply->opening(0, {'h', 'i'}));
  for (const auto piece : fuzz::pieces_of(sampled, options.seed)) {
    client.take(reply->piece(0, stream.push(delta_of(piece))));
    if (options.seed % 3 == 0) client.take(reply->heartbeat());
  }
  GenerateDelta last;
  last.finish = options.finish();
  client.take(reply->piece(0, stream.push(last)));
  client.take(reply->ending(0, stream));
  Usage usage;
  usage.prompt_tokens = 2;
  usage.add(stream);
  client.take(reply->done(usage));
  return client;
}

void check_failure(const Options& options, std::string_view sampled) {
  Client client(options.kind);
  auto stream = stream_for(options);
  const auto reply = reply_for(options, true);
  if (options.seed % 2 == 0) client.take(reply->opening(0, {'h', 'i'}));
  if (options.seed % 2 == 0) client.take(reply->piece(0, stream.push(delta_of(sampled))));
  client.take(reply->failure(invalid_request("no", "x")));
  require(!client.last().is_null(), "a failure that says nothing");
}

std::string terminal_of(RouteKind kind, const Options& options) {
  if (kind == RouteKind::messages) return "message_stop";
  return options.is_cut_short ? "response.incomplete" : "response.completed";
}

void compare(const Options& options, const Shown& stream, const Shown& whole) {
  require(stream.text == whole.text && stream.thoughts == whole.thoughts, "streamed: ", stream.text, "|",
          stream.thoughts, "\nwhole: ", whole.text, "|", whole.thoughts);
  require(stream.arguments.size() == whole.arguments.size(), "calls: ", stream.arguments.size(), " streamed, ",
          whole.arguments.size(), " whole");
  for (std::size_t i = 0; i < whole.arguments.size(); ++i) {
    const bool is_same = stream.arguments[i] == whole.arguments[i] ||
                         (options.kind == RouteKind::messages &&
                          parse_ordered_json(stream.arguments[i]) == parse_ordered_json(whole.arguments[i]));
    require(is_same, "arguments streamed: ", stream.arguments[i], "\nwhole: ", whole.arguments[i]);
  }
}

void check(const Options& options, std::string_view sampled) {
  const auto client = streamed(options, sampled);
  check_failure(options, sampled);
  std::vector<ChoiceStream> choices;
  choices.push_back(stream_for(options));
  auto all = delta_of(sampled);
  all.finish = options.finish();
  choices.front().push(std::move(all));
  const auto text = reply_for(options, false)->whole(choices, {'h', 'i'});
  const auto reply = parse_ordered_json(text);
  require(reply.is_object() && fuzz::is_utf8(text), "an unstreamed reply that is no JSON: ", text);
  const bool has_named_end = options.kind == RouteKind::messages || options.kind == RouteKind::responses;
  if (!has_named_end) require(client.last() == "[DONE]", "a stream without its end");
  const bool is_stopped = !choices.front().stop_string().empty();   // before it could be cut short
  if (has_named_end && !is_stopped)
    require(text_in(client.last(), "type") == terminal_of(options.kind, options), "a stream that ends otherwise");
  bool has_broken_part = false;
  for (const auto& part : choices.front().parts()) has_broken_part = has_broken_part || part.is_broken;
  // What a stream has shown of a broken call it cannot take back.
  if (options.kind == RouteKind::messages && has_broken_part) return;
  compare(options, client.shown(), shown_of_whole(reply, options.kind));
  if (options.kind == RouteKind::responses)
    require(client.last()["response"]["output"] == reply["output"], "other items at the stream's end");
}
}  // namespace
}  // namespace corisco::gateway

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corisco::gateway;
  corisco::fuzz::Input input(data, size);
  Options options{};
  options.kind = kKinds[input.below(std::size(kKinds))];
  options.family = kFamilies[input.below(std::size(kFamilies))];
  const auto bits = input.byte();
  options.has_reasoning = (bits & 1) != 0;
  options.is_in_reasoning = (bits & 2) != 0;
  options.has_stop = (bits & 4) != 0;
  options.returns_ids = (bits & 8) != 0;
  options.is_cut_short = (bits & 16) != 0;
  options.seed = input.byte();
  check(options, input.rest(1024));
  return 0;
}
