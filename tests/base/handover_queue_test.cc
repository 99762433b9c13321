#include "corisco/base/handover_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace corisco {
namespace {
TEST(HandoverQueue, KeepsTheOrderOfOneThread) {
  HandoverQueue<int> queue(3);
  EXPECT_TRUE(queue.empty());
  for (int i = 0; i < 3; ++i) queue.push(std::make_unique<int>(i));
  EXPECT_FALSE(queue.empty());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*queue.try_pop(), i);
  EXPECT_EQ(queue.try_pop(), nullptr);
}

TEST(HandoverQueue, OwnsWhatNobodyTook) {
  const auto witness = std::make_shared<int>(1);
  {
    HandoverQueue<std::shared_ptr<int>> queue(2);
    queue.push(std::make_unique<std::shared_ptr<int>>(witness));
    EXPECT_EQ(witness.use_count(), 2);
  }
  EXPECT_EQ(witness.use_count(), 1);
}

TEST(HandoverQueueDeathTest, FullIsABug) {
  HandoverQueue<int> queue(1);
  queue.push(std::make_unique<int>(1));
  EXPECT_DEATH(queue.push(std::make_unique<int>(2)), "handover queue full");
}

// Every number arrives exactly once, and those of one producer in its order.
TEST(HandoverQueue, HandsEachObjectOverOnceBetweenThreads) {
  constexpr int kPerProducer = 20000, kProducers = 2;
  HandoverQueue<int> queue(kPerProducer * kProducers);
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&queue, p] {
      for (int i = 0; i < kPerProducer; ++i) queue.push(std::make_unique<int>(p * kPerProducer + i));
    });
  }
  std::vector<int> seen(kPerProducer * kProducers, 0), last(kProducers, -1);
  for (int taken = 0; taken < kPerProducer * kProducers;) {
    const auto item = queue.try_pop();
    if (!item) continue;
    ++taken;
    ++seen[static_cast<std::size_t>(*item)];
    int& before = last[static_cast<std::size_t>(*item / kPerProducer)];
    EXPECT_LT(before, *item);
    before = *item;
  }
  for (auto& producer : producers) producer.join();
  for (const int count : seen) ASSERT_EQ(count, 1);
}
}  // namespace
}  // namespace corisco
