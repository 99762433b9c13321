#include "gateway/continuation_search.h"

#include <utility>

#include "gateway/split_cause.h"
#include "gateway/turn_answers.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
constexpr std::size_t kComparedMax = 8;  // earlier calls

asio::awaitable<std::vector<Comparison>> answers_of(CallContext& context, const std::string& tools_json,
                                                    const Questions& questions) {
  auto size = tools_json.size();
  for (const auto& question : questions) size += question.sampled.size() + question.returned.size();
  auto work = [reader = ReplyReader(context.parts.reply_syntax, tools_json), questions] {
    return compare_turns(reader, questions);
  };
  auto comparisons = co_await context.worker.run(size, std::move(work));
  co_return comparisons;
}

void count(GatewayMetrics& metrics, const std::vector<Differences>& all) {
  for (const auto& differences : all)
    for (std::size_t i = 0; i < kNumDifferences; ++i)
      if (differences.has(static_cast<Difference>(i))) metrics.differs(static_cast<Difference>(i));
}

// A reply that is not in the rendering: was it the client that changed it, or the template?
asio::awaitable<SplitCause> cause_of_changed_reply(CallContext& context, const AttemptState& attempt,
                                                   const ChatRequest& request, const CallTree::Found& found) {
  Conversation conversation{request.messages_json, 0, 0, false};
  std::vector<CallTree::Earlier> replied;
  const auto& calls = attempt.conversations_of(request).calls;
  for (const auto* node : found.refused) replied.push_back(calls.earlier(*node));
  auto size = conversation.messages_json.size();
  for (const auto& call : replied) size += call.messages.size();
  auto work = [reader = ReplyReader(context.parts.reply_syntax, request.tools_json),
               conversation = std::move(conversation), replied = std::move(replied)] {
    return is_sent_back(conversation, replied, reader) ? SplitCause::template_changed : SplitCause::reply_changed;
  };
  const auto cause = co_await context.worker.run(size, std::move(work));
  co_return cause;
}

asio::awaitable<SplitCause> find_cause(CallContext& context, const AttemptState& attempt, const ChatRequest& request,
                                       const CallTree::Found& found) {
  const auto& calls = attempt.conversations_of(request).calls;
  const auto known = cause_of_found(calls, found, request.is_completion());
  const bool is_changed_reply = known == SplitCause::reply_changed && !found.twin && !request.is_completion();
  if (is_changed_reply) co_return co_await cause_of_changed_reply(context, attempt, request, found);
  if (known) co_return *known;
  const auto* node = found.match.node;
  Conversation conversation{request.messages_json, hash_text(request.tools_json),
                            hash_text(request.template_kwargs_json), node != nullptr};
  auto earlier = calls.newest(kComparedMax, node);
  auto size = conversation.messages_json.size();
  for (const auto& call : earlier) size += call.messages.size();
  auto work = [reader = ReplyReader(context.parts.reply_syntax), conversation = std::move(conversation),
               earlier = std::move(earlier)] { return split_cause(conversation, earlier, reader); };
  const auto cause = co_await context.worker.run(size, std::move(work));
  co_return cause;
}
}  // namespace

// Each round answers what the one before has asked, one turn deeper at least. Others may add calls meanwhile.
asio::awaitable<Continued> find_continuation(CallContext& context, AttemptState& attempt, const ChatRequest& request,
                                             const std::string& rendering) {
  const auto& config = context.parts.config->gateway;
  const TurnRules rules{config.exact_serving, config.keep_reasoning};
  CallTree::Search search;
  search.rendering = rendering;
  search.messages_json = request.messages_json;
  search.is_literal = request.is_completion();
  search.end_texts = &context.end_texts;
  search.goes_on = context.turn_goes_on;
  auto& calls = attempt.conversations_of(request).calls;
  auto found = calls.find(search);
  while (!found.questions.empty()) {
    const auto comparisons = co_await answers_of(context, request.tools_json, found.questions);
    count(context.metrics, take_answers(calls, search, found.questions, comparisons, rules));
    found = calls.find(search);
  }
  if (found.adds_end) context.metrics.differs(Difference::missing_end);
  Continued continued;
  continued.split = co_await find_cause(context, attempt, request, found);
  continued.match = std::move(found.match);
  co_return continued;
}
}  // namespace corisco::gateway
