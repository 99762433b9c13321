// The checksum that names a version: the same for the same bytes on any number of threads, another one
// for any change.
#include "trainer/weights_checksum.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <set>

#include "corisco/model/runtime.h"
#include "corisco/trainer/trainer.h"
#include "trainer/batch_builder.h"
#include "trainer/tiny_decoder.h"

namespace corisco::trainer {
namespace {
TEST(BytesChecksum, ChangesWithEveryBitAndWithTheLength) {
  std::vector<unsigned char> bytes(203);   // three rounds of eight lanes, one word and three bytes
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(7 * i);
  std::set<std::uint64_t> sums = {bytes_checksum(bytes)};
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
    sums.insert(bytes_checksum(bytes));
    bytes[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
  }
  const std::span<const unsigned char> all(bytes);
  for (std::size_t length = 0; length < bytes.size(); ++length) sums.insert(bytes_checksum(all.first(length)));
  EXPECT_EQ(sums.size(), 1 + 8 * bytes.size() + bytes.size());
}

TEST(WeightsChecksum, IsTheSameOnAnyNumberOfThreads) {
  const at::Tensor large = at::full({3, 1 << 20}, 0.5);   // several pieces
  std::set<std::uint64_t> sums;
  for (const std::uint32_t threads : {1U, 2U, 3U}) {
    model::use_threads(threads);
    sums.insert(weights_checksum({{"a", large}, {"b", at::full({3}, 1.0)}}));
  }
  EXPECT_EQ(sums.size(), 1U);
  sums.insert(weights_checksum({{"b", at::full({3}, 1.0)}, {"a", large}}));
  large.view({-1}).select(0, 2'000'000).fill_(0.25);
  sums.insert(weights_checksum({{"a", large}, {"b", at::full({3}, 1.0)}}));
  EXPECT_EQ(sums.size(), 3U);
}

TrainBatch batch_at(std::uint64_t version) {
  TrainBatch batch;
  batch.groups = {make_group(version, {make_rollout(0, 1, {make_row({1, 2, 3, 4}, "..xx", version)}),
                                       make_rollout(1, 0, {make_row({1, 2, 9, 8}, "..xx", version)})})};
  return batch;
}

UpdateReport update_of(Trainer& trainer) {
  trainer.begin(batch_at(trainer.version().value), trainer.version());
  while (trainer.advance()) {
  }
  return trainer.publish();
}

TEST(WeightsChecksum, IsReportedByEachUpdateAndEqualForEqualWeights) {
  config::Trainer options;
  options.learning_rate = 1e-2F;
  const auto first = tiny_decoder(3), second = tiny_decoder(3);
  const auto trainer = Trainer::create(*first, options, 6).value();
  const auto again = Trainer::create(*second, options, 6).value();
  const auto report = update_of(*trainer);
  EXPECT_NE(report.weights_checksum, 0U);
  EXPECT_EQ(report.weights_checksum, weights_checksum(first->parameters()));
  EXPECT_EQ(report.weights_checksum, update_of(*again).weights_checksum);
  EXPECT_NE(report.weights_checksum, update_of(*trainer).weights_checksum);
  second->parameters()[0].tensor.detach().view({-1}).select(0, 0).add_(1e-3);
  EXPECT_NE(report.weights_checksum, weights_checksum(second->parameters()));
}
}  // namespace
}  // namespace corisco::trainer
