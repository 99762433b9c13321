// What a chat call's request demands of its reply, compiled on the text worker's thread whatever its size.
#include <utility>

#include "gateway/chat_call.h"
#include "gateway/reply_grammar.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
constexpr const char* kUnenforced = "unenforced_strict_tools";   // the metric's word

struct Compiled {
  Constraint constraint = Constraint::none;
  std::shared_ptr<const text::Grammar> grammar;
};

// The request goes to the worker and comes back.
struct Answer {
  OrApiError<Compiled> compiled;
  ChatRequest request;
};

OrApiError<Compiled> compile(ReplyGrammars& grammars, const ChatRequest& request, const ReplySyntax& syntax,
                             Thinking thinking, const text::Tokenizer& tokenizer) {
  auto wanted = wanted_grammar(request, syntax, thinking, tokenizer);
  if (auto* error = std::get_if<ApiError>(&wanted)) return std::move(*error);
  const auto& [constraint, source, field] = std::get<WantedGrammar>(wanted);
  if (constraint == Constraint::none) return Compiled();
  auto grammar = grammars.compile(source);
  if (grammar.ok()) return Compiled{constraint, std::move(grammar).value()};
  if (constraint == Constraint::strict_tools) return Compiled();
  if (grammar.error().code != Code::invalid_argument) return from_error(grammar.error());
  return invalid_request(cat("'", field, "': ", grammar.error().message), field, "unsupported_grammar");
}
}  // namespace

// Strict tools that cannot be enforced are counted; the model may call them or not, and is asked to obey.
asio::awaitable<ChatCall::Failure> ChatCall::make_grammar() {
  const bool is_free = request_.form.kind == ReplyForm::Kind::free && !request_.forced_call.is_forced;
  if (is_free && request_.strict_tools.empty()) co_return std::nullopt;
  if (is_free && !parts_.config->engine.script.empty()) {      // which calls what its author wrote
    context_.metrics.constrained(kUnenforced);
    co_return std::nullopt;
  }
  const auto thinking = thinking_of(parts_.reply_syntax, request_.is_completion(), prompt_.tail_text);
  auto work = [&grammars = context_.grammars, request = std::move(request_), syntax = parts_.reply_syntax, thinking,
               tokenizer = parts_.tokenizer]() mutable {
    auto compiled = compile(grammars, request, syntax, thinking, *tokenizer);
    return Answer{std::move(compiled), std::move(request)};
  };
  const auto never_in_place = TextWorker::kBytesInPlaceMax + 1;
  auto answer = co_await context_.worker.run(never_in_place, std::move(work));
  request_ = std::move(answer.request);
  auto& made = answer.compiled;
  if (auto* error = std::get_if<ApiError>(&made)) co_return std::move(*error);
  auto& compiled = std::get<Compiled>(made);
  const bool is_unenforced = compiled.constraint == Constraint::none;
  context_.metrics.constrained(is_unenforced ? kUnenforced : to_string(compiled.constraint));
  grammar_ = std::move(compiled.grammar);
  co_return std::nullopt;
}
}  // namespace corisco::gateway
