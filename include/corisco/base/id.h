// Strong ids: a RolloutId is not a GroupId. Ids are numbered from 1; 0 means none.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>

namespace corisco {
template <class Tag>
struct Id {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(Id, Id) = default;
  explicit constexpr operator bool() const { return value != 0; }
  friend std::ostream& operator<<(std::ostream& out, Id id) { return out << id.value; }
};

using RolloutId = Id<struct RolloutTag>;
using GroupId = Id<struct GroupTag>;
using CallId = Id<struct CallTag>;
// One sequence in the engine: a call with n > 1 makes n of them.
using RequestId = Id<struct RequestTag>;
// Which weights: 0 for those of the checkpoint that the run started from, +1 per published update.
using PolicyVersion = Id<struct PolicyVersionTag>;
}  // namespace corisco

template <class Tag>
struct std::hash<corisco::Id<Tag>> {
  std::size_t operator()(corisco::Id<Tag> id) const noexcept {
    return std::hash<std::uint64_t>{}(id.value);
  }
};
