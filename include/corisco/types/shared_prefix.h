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
  // What it does not share with its base.
  std::size_t num_own() const { return last_ ? last_->items.size() : 0; }

  // All items in one; linear.
  Items items() const {
    Items all(size(), T{});
    std::size_t end = all.size();
    for (const auto* piece = last_.get(); piece != nullptr; piece = piece->base.get()) {
      const auto kept = end - piece->base_size;
      std::copy_n(piece->items.begin(), kept, all.begin() + static_cast<std::ptrdiff_t>(piece->base_size));
      end = piece->base_size;
    }
    return all;
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
  SharedPrefix(std::shared_ptr<const Piece> base, std::size_t base_size, Items own) {
    if (base_size + own.size() > 0) last_ = std::make_shared<const Piece>(std::move(base), base_size, std::move(own));
  }

  std::shared_ptr<const Piece> last_;
};
}  // namespace corisco
