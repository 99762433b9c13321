#include "trainer/weights_checksum.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "corisco/base/random.h"

namespace corisco::trainer {
namespace {
constexpr std::size_t kPieceBytes = 1U << 20;
constexpr std::size_t kWordBytes = 8;
// Lanes do not wait for each other's multiplications, so that memory is the limit.
constexpr std::size_t kLanes = 8;
constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;   // 2^64 / golden ratio

// One to one in the lane for each word, and in the word for each lane.
// The shift spreads the product's high bits: a change of one bit is never undone by one bit of the next word.
std::uint64_t take(std::uint64_t lane, std::uint64_t word) {
  const auto mixed = (lane ^ word) * kOdd;
  return mixed ^ (mixed >> 29);
}

std::uint64_t word_at(const unsigned char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, kWordBytes);
  return word;
}

// A tensor on a device is copied to this machine's memory first.
std::uint64_t tensor_checksum(const at::Tensor& tensor) {
  const at::Tensor host = tensor.detach().cpu().contiguous();
  const std::span all(static_cast<const unsigned char*>(host.const_data_ptr()), host.nbytes());
  std::vector<std::uint64_t> sums((all.size() + kPieceBytes - 1) / kPieceBytes);
#pragma omp parallel for schedule(static) if (sums.size() > 1)
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto begin = i * kPieceBytes;
    sums[i] = bytes_checksum(all.subspan(begin, std::min(kPieceBytes, all.size() - begin)));
  }
  std::uint64_t sum = all.size();
  for (const auto piece : sums) sum = hash_words({sum, piece});
  return sum;
}
}  // namespace

std::uint64_t bytes_checksum(std::span<const unsigned char> bytes) {
  std::array<std::uint64_t, kLanes> lanes{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = lane + 1;
  std::size_t at = 0;
  for (; at + kLanes * kWordBytes <= bytes.size(); at += kLanes * kWordBytes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = take(lanes[lane], word_at(bytes.data() + at + lane * kWordBytes));
  std::uint64_t sum = bytes.size();
  for (; at < bytes.size(); ++at) sum = take(sum, bytes[at]);
  for (const auto lane : lanes) sum = take(sum, lane);
  return sum;
}

std::uint64_t weights_checksum(const std::vector<model::NamedTensor>& tensors) {
  std::uint64_t sum = tensors.size();
  for (const auto& named : tensors) sum = hash_words({sum, tensor_checksum(named.tensor)});
  return sum == 0 ? 1 : sum;
}
}  // namespace corisco::trainer
