#include "gateway/responses_recall.h"

#include <utility>

#include "corisco/base/json.h"
#include "gateway/openai_responses.h"
#include "gateway/responses_history.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
ApiError unknown_response() {
  return invalid_request("'previous_response_id' names no response that is kept here: those of the same rollout are, "
                         "for a while, unless their request said store: false. Send the whole input instead",
                         "previous_response_id", "previous_response_not_found");
}

ApiError unknown_item(std::size_t index) {
  const auto where = cat("input[", index, "]");
  return invalid_request(cat("'", where, "' stands for an item that is not kept here. Send the item itself instead"),
                         where, "item_not_found");
}

// All items of the conversation; those that stand for others are replaced.
OrApiError<std::vector<ItemText>> look_up(ResponsesTurn& turn, const ResponseStore& store) {
  std::vector<ItemText> items;
  if (!turn.previous_response_id.empty()) {
    auto earlier = store.history(turn.previous_response_id);
    if (!earlier) return unknown_response();
    items = std::move(*earlier);
  }
  for (const auto& [index, id] : turn.references) {
    auto item = store.output_item(id);
    if (item == nullptr) return unknown_item(index);
    turn.input[index] = std::move(item);
  }
  items.insert(items.end(), turn.input.begin(), turn.input.end());
  return items;
}

OrApiError<std::string> messages_of(const std::vector<ItemText>& texts, const ResponsesTurn& turn) {
  Json items = Json::array();
  for (const auto& text : texts) items.push_back(parse_ordered_json(*text));
  auto native = native_conversation(turn.instructions, items, turn.tools);
  if (auto* error = std::get_if<ApiError>(&native)) return std::move(*error);
  return json_text(std::get<Json>(native));
}
}  // namespace

asio::awaitable<std::optional<ApiError>> recall_earlier(CallContext& context, ChatRequest& request,
                                                        const AttemptState* attempt) {
  const auto turn = request.responses;
  if (turn == nullptr || !turn->needs_earlier()) co_return std::nullopt;
  const ResponseStore nothing;
  auto found = look_up(*turn, attempt == nullptr ? nothing : attempt->responses);
  if (auto* error = std::get_if<ApiError>(&found)) co_return std::move(*error);
  std::size_t size = 0;
  for (const auto& text : std::get<std::vector<ItemText>>(found)) size += text->size();
  auto work = [turn, texts = std::move(std::get<std::vector<ItemText>>(found))] { return messages_of(texts, *turn); };
  auto made = co_await context.worker.run(size, std::move(work));
  if (auto* error = std::get_if<ApiError>(&made)) co_return std::move(*error);
  request.messages_json = std::move(std::get<std::string>(made));
  co_return std::nullopt;
}
}  // namespace corisco::gateway
