// What an attempt's responses were made of, for requests that name an earlier one instead of sending
// the conversation again (previous_response_id), or one of its items (item_reference).
// Owned by the attempt, io thread; the texts are shared with running calls and never change.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace corisco::gateway {
using ItemText = std::shared_ptr<const std::string>;   // one item, as a JSON object

struct OutputItem {
  std::string id;
  ItemText text;
};

// A response keeps what it adds to the one before it, and equal items are kept once: a client that
// sends its whole conversation with every request costs no more than one that sends the news.
// When full, the oldest responses are forgotten; who names one of them learns that it is unknown.
class ResponseStore {
 public:
  static constexpr std::size_t kBytesMax = 16U << 20;
  explicit ResponseStore(std::size_t bytes_max = kBytesMax) : bytes_max_(bytes_max) {}

  // previous: the response that it goes on from, or empty.
  void add(const std::string& id, const std::string& previous, const std::vector<ItemText>& input,
           const std::vector<OutputItem>& output);
  // All items up to the end of the response, oldest first. None if it, or one before it, is unknown.
  std::optional<std::vector<ItemText>> history(const std::string& id) const;
  ItemText output_item(const std::string& item_id) const;   // null: unknown
  std::size_t bytes() const { return bytes_; }

 private:
  struct Stored {
    std::string previous;
    std::vector<ItemText> items;
    std::vector<std::string> output_ids;
  };
  struct Counted {
    ItemText text;
    std::size_t num_uses = 0;
  };
  ItemText keep(const ItemText& text);
  void release(const ItemText& text);
  void forget_oldest();

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;                // of texts, and of the lists of them
  std::unordered_map<std::string, Stored> responses_;
  std::deque<std::string> order_;        // of their ids, oldest first
  std::unordered_map<std::string_view, Counted> texts_;
  std::unordered_map<std::string, ItemText> output_items_;
};
}  // namespace corisco::gateway
