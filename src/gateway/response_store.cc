#include "gateway/response_store.h"

#include <algorithm>
#include <utility>

namespace corisco::gateway {
namespace {
// What an item takes in a list, beside its text.
constexpr std::size_t kListedBytes = sizeof(ItemText);
}  // namespace

ItemText ResponseStore::keep(const ItemText& text) {
  auto& counted = texts_[std::string_view(*text)];
  if (counted.num_uses++ == 0) {         // the key looks into the text that is kept, which is this one
    counted.text = text;
    bytes_ += text->size();
  }
  bytes_ += kListedBytes;
  return counted.text;
}

void ResponseStore::release(const ItemText& text) {
  const auto found = texts_.find(std::string_view(*text));
  bytes_ -= kListedBytes;
  if (--found->second.num_uses > 0) return;
  bytes_ -= text->size();
  texts_.erase(found);
}

void ResponseStore::add(const std::string& id, const std::string& previous, const std::vector<ItemText>& input,
                        const std::vector<OutputItem>& output) {
  if (responses_.contains(id)) return;
  Stored stored{previous, {}, {}};
  for (const auto& text : input) stored.items.push_back(keep(text));
  for (const auto& item : output) {
    stored.items.push_back(keep(item.text));
    stored.output_ids.push_back(item.id);
    output_items_[item.id] = stored.items.back();
  }
  responses_.emplace(id, std::move(stored));
  order_.push_back(id);
  while (bytes_ > bytes_max_ && !order_.empty()) forget_oldest();
}

void ResponseStore::forget_oldest() {
  const auto found = responses_.find(order_.front());
  for (const auto& id : found->second.output_ids) output_items_.erase(id);
  for (const auto& text : found->second.items) release(text);
  responses_.erase(found);
  order_.pop_front();
}

std::optional<std::vector<ItemText>> ResponseStore::history(const std::string& id) const {
  std::vector<const Stored*> chain;      // newest first; a response names only one that was there before it
  for (const auto* next = &id; !next->empty(); next = &chain.back()->previous) {
    const auto found = responses_.find(*next);
    if (found == responses_.end()) return std::nullopt;
    chain.push_back(&found->second);
  }
  std::reverse(chain.begin(), chain.end());
  std::vector<ItemText> items;
  for (const auto* stored : chain) items.insert(items.end(), stored->items.begin(), stored->items.end());
  return items;
}

ItemText ResponseStore::output_item(const std::string& item_id) const {
  const auto found = output_items_.find(item_id);
  return found == output_items_.end() ? nullptr : found->second;
}
}  // namespace corisco::gateway
