// The gate admits in order, holds while shut, counts exactly, and lets a waiter go.
#include "corisco/coordinator/gate.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

namespace corisco::coordinator {
namespace {
namespace asio = boost::asio;

struct GateTest : testing::Test {
  asio::io_context io;
  Gate gate{io.get_executor()};
  std::vector<Gate::Pass> passes;
  std::vector<std::string> log;

  Gate::OnTurn keep(std::string name) {
    return [this, name](Result<Gate::Pass> result) {
      log.push_back(name + ":" + (result.ok() ? "in" : to_string(result.error().code)));
      if (result.ok()) passes.push_back(std::move(result).value());
    };
  }
  static asio::awaitable<void> enter(Gate& gate, std::vector<std::string>& log) {
    const auto result = co_await gate.enter();
    log.push_back(result.ok() ? "in" : to_string(result.error().code));
  }
};

TEST_F(GateTest, OpenAdmitsAtOnce) {
  const auto place = gate.queue(keep("a"));
  EXPECT_EQ(log, std::vector<std::string>{"a:in"});
  EXPECT_EQ(gate.num_inside(), 1U);
  passes.clear();
  EXPECT_EQ(gate.num_inside(), 0U);
}

TEST_F(GateTest, ShutHoldsInOrderOfArrival) {
  gate.shut();
  const auto a = gate.queue(keep("a"));
  const auto b = gate.queue(keep("b"));
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(gate.num_waiting(), 2U);
  gate.open();
  EXPECT_EQ(log, (std::vector<std::string>{"a:in", "b:in"}));
  EXPECT_EQ(gate.num_inside(), 2U);
  EXPECT_EQ(gate.num_waiting(), 0U);
  passes.clear();
}

TEST_F(GateTest, LeavingTheQueueIsSilent) {
  gate.shut();
  auto a = gate.queue(keep("a"));
  const auto b = gate.queue(keep("b"));
  a = Gate::Place();
  EXPECT_EQ(gate.num_waiting(), 1U);
  gate.open();
  EXPECT_EQ(log, std::vector<std::string>{"b:in"});
  passes.clear();
}

TEST_F(GateTest, CloseTellsTheWaitingAndTheLater) {
  gate.shut();
  const auto a = gate.queue(keep("a"));
  gate.close();
  const auto b = gate.queue(keep("b"));
  gate.open();
  EXPECT_EQ(log, (std::vector<std::string>{"a:unavailable", "b:unavailable"}));
  EXPECT_EQ(gate.state(), GateState::closed);
}

TEST_F(GateTest, EmptyIsToldOnceTheLastOneLeft) {
  const auto a = gate.queue(keep("a"));
  const auto b = gate.queue(keep("b"));
  gate.shut();
  int num_empty = 0;
  gate.when_empty([&] { ++num_empty; });
  passes.pop_back();
  EXPECT_EQ(num_empty, 0);
  passes.pop_back();
  EXPECT_EQ(num_empty, 1);
  gate.when_empty([&] { ++num_empty; });
  EXPECT_EQ(num_empty, 2);
}

TEST_F(GateTest, AWaiterForEmptyCanBeWithdrawn) {
  const auto a = gate.queue(keep("a"));
  int num_empty = 0;
  gate.when_empty([&] { ++num_empty; });
  gate.when_empty(nullptr);
  passes.clear();
  EXPECT_EQ(num_empty, 0);
}

TEST_F(GateTest, AMovedPassIsCountedOnce) {
  const auto a = gate.queue(keep("a"));
  Gate::Pass moved = std::move(passes.back());
  passes.clear();
  EXPECT_EQ(gate.num_inside(), 1U);
  moved = Gate::Pass();
  EXPECT_EQ(gate.num_inside(), 0U);
}

TEST_F(GateTest, ACoroutineWaitsAndEnters) {
  gate.shut();
  asio::co_spawn(io, enter(gate, log), asio::detached);
  io.poll();
  EXPECT_EQ(gate.num_waiting(), 1U);
  gate.open();
  EXPECT_EQ(gate.num_inside(), 1U);  // counted before the coroutine runs again
  gate.shut();
  io.restart();
  io.poll();
  EXPECT_EQ(log, std::vector<std::string>{"in"});
  EXPECT_EQ(gate.num_inside(), 0U);
}

TEST_F(GateTest, ACancelledCoroutineLeavesTheQueue) {
  gate.shut();
  asio::cancellation_signal cancel;
  asio::co_spawn(io, enter(gate, log), asio::bind_cancellation_slot(cancel.slot(), asio::detached));
  io.poll();
  cancel.emit(asio::cancellation_type::terminal);
  io.restart();
  io.poll();
  EXPECT_EQ(log, std::vector<std::string>{"cancelled"});
  EXPECT_EQ(gate.num_waiting(), 0U);
  gate.open();
  EXPECT_EQ(gate.num_inside(), 0U);
}
}  // namespace
}  // namespace corisco::coordinator
