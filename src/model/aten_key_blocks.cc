#include "model/aten_key_blocks.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace corisco::model {
namespace {
constexpr std::int64_t kMaskElementsMax = std::int64_t{1} << 26;

std::vector<std::int64_t> keys_of(const AttentionPlan& plan, std::int64_t row) {
  std::vector<std::int64_t> keys;
  const auto t = static_cast<std::size_t>(row);
  for (auto s = static_cast<std::size_t>(plan.begin[t]); s < static_cast<std::size_t>(plan.begin[t + 1]);
       ++s) {
    for (std::int32_t k = 0; k < plan.spans[s].length; ++k) keys.push_back(plan.spans[s].first + k);
  }
  return keys;
}

KeyBlock make_block(const AttentionPlan& plan, std::int64_t first, std::int64_t count,
                 const at::Device& device) {
  std::vector<std::vector<std::int64_t>> rows;
  std::vector<std::int64_t> keys;
  for (std::int64_t row = first; row < first + count; ++row) {
    rows.push_back(keys_of(plan, row));
    keys.insert(keys.end(), rows.back().begin(), rows.back().end());
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  at::Tensor mask = at::zeros({count, static_cast<std::int64_t>(keys.size())}, at::kBool);
  bool* bits = mask.mutable_data_ptr<bool>();
  for (std::int64_t row = 0; row < count; ++row) {
    for (const auto key : rows[static_cast<std::size_t>(row)]) {
      bits[row * mask.size(1) + (std::lower_bound(keys.begin(), keys.end(), key) - keys.begin())] = true;
    }
  }
  return {.first = first, .count = count, .keys = id_tensor(keys).to(device), .mask = mask.to(device)};
}
}  // namespace

at::Tensor id_tensor(const std::vector<std::int64_t>& numbers) {
  at::Tensor result = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kLong);
  std::copy(numbers.begin(), numbers.end(), result.mutable_data_ptr<std::int64_t>());
  return result;
}

// Blocks of rows whose masks stay below the bound even if no two rows shared a key.
std::vector<KeyBlock> make_key_blocks(const AttentionPlan& plan, std::int64_t num_rows, const at::Device& device) {
  std::vector<KeyBlock> blocks;
  for (std::int64_t first = 0; first < num_rows;) {
    std::int64_t count = 0, keys = 0;
    while (first + count < num_rows) {
      const auto more = static_cast<std::int64_t>(keys_of(plan, first + count).size());
      if (count > 0 && (keys + more) * (count + 1) > kMaskElementsMax) break;
      keys += more;
      ++count;
    }
    blocks.push_back(make_block(plan, first, count, device));
    first += count;
  }
  return blocks;
}
}  // namespace corisco::model
