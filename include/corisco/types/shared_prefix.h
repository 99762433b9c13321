// A sequence that shares its beginning with others instead of copying it: a conversation's prompts are
// each the one before and a little more. A value: never changed, cheap to copy, safe to read anywhere.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace corisco {
//   a = [1 2 3 4]            one piece
//   b = extend(a, 3, [9])    [1 2 3 | 9]: the first three of a, then 9 alone is stored
template <class T>
class SharedPrefix {
 public:
  using Items = std::conditional_t<std::is_same_v<T, char>, std::string, std::vector<T>>;

  SharedPrefix() = default;
  // NOLINTNEXTLINE: every plain sequence is one that shares nothing.
  SharedPrefix(Items items) : SharedPrefix(nullptr, 0, std::move(items)) {}
  SharedPrefix(std::initializer_list<T> items) : SharedPrefix(Items(items)) {}
  SharedPrefix(const char* text) requires std::is_same_v<T, char> : SharedPrefix(Items(text)) {}   // NOLINT

  // The first base_size items of base, at most all of them, then more.
  static SharedPrefix extend(const SharedPrefix& base, std::size_t base_size, Items more) {
    auto piece = base.last_;
    base_size = std::min(base_size, base.size());
    while (piece && base_size <= piece->base_size) piece = piece->base;   // it holds none of them itself
    return SharedPrefix(std::move(piece), base_size, std::move(more));
  }

  std::size_t size() const { return last_ ? last_->base_size + last_->items.size() : 0; }
  bool empty() const { return size() == 0; }
  // What it does not share with its base: its last items. Valid while it lives.
  std::span<const T> own() const { return last_ ? std::span<const T>(last_->items) : std::span<const T>(); }
  std::size_t num_own() const { return own().size(); }

  // All items in one; linear.
  Items items() const { return tail(0); }

  // Those from first on, in the time of their number and of the pieces they lie in.
  Items tail(std::size_t first) const {
    const auto total = size();
    first = std::min(first, total);
    Items rest(total - first, T{});
    std::size_t end = total;
    for (const auto* piece = last_.get(); piece != nullptr && end > first; piece = piece->base.get()) {
      const auto begin = std::max(piece->base_size, first);
      const auto from = piece->items.begin() + static_cast<std::ptrdiff_t>(begin - piece->base_size);
      if (end > begin) std::copy_n(from, end - begin, rest.begin() + static_cast<std::ptrdiff_t>(begin - first));
      end = std::min(end, piece->base_size);
    }
    return rest;
  }

  // Whether its first n items are the very ones of other, without looking at them: what is stored once.
  // False may also mean that equal items are stored twice.
  bool shares_first(std::size_t n, const SharedPrefix& other) const {
    if (n == 0) return true;
    if (n > size() || n > other.size()) return false;
    return holder_of(n) == other.holder_of(n);
  }

  // How many first items equal those of other.
  std::size_t common_with(std::span<const T> other) const {
    auto common = std::min(size(), other.size());
    std::size_t end = common;
    for (const auto* piece = last_.get(); piece != nullptr; piece = piece->base.get()) {
      if (piece->base_size >= end) continue;
      const auto part = other.subspan(piece->base_size, end - piece->base_size);
      const auto equal = std::mismatch(part.begin(), part.end(), piece->items.begin()).first - part.begin();
      if (static_cast<std::size_t>(equal) < part.size()) common = piece->base_size + static_cast<std::size_t>(equal);
      end = piece->base_size;
    }
    return common;
  }

  friend bool operator==(const SharedPrefix& a, const SharedPrefix& b) {
    return a.size() == b.size() && (a.last_ == b.last_ || a.items() == b.items());
  }

 private:
  struct Piece {
    std::shared_ptr<const Piece> base;
    std::size_t base_size;
    Items items;
    Piece(std::shared_ptr<const Piece> b, std::size_t size, Items own)
        : base(std::move(b)), base_size(size), items(std::move(own)) {}
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    // In a loop, since a chain may be longer than the stack is deep.
    ~Piece() {
      while (base && base.use_count() == 1) {
        auto next = std::move(const_cast<Piece&>(*base).base);
        base = std::move(next);
      }
    }
  };
  // The piece that holds item n - 1 itself.
  const Piece* holder_of(std::size_t n) const {
    const auto* piece = last_.get();
    while (piece->base_size >= n) piece = piece->base.get();
    return piece;
  }
  SharedPrefix(std::shared_ptr<const Piece> base, std::size_t base_size, Items own) {
    if (base_size + own.size() > 0) last_ = std::make_shared<const Piece>(std::move(base), base_size, std::move(own));
  }

  std::shared_ptr<const Piece> last_;
};
}  // namespace corisco
