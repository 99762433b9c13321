// Runs text work (JSON, templates, tokenising) of large inputs on a thread of its own, so that the
// io thread never spends more than about a millisecond on one request. Small work runs in place.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "gateway/signal.h"

namespace corisco::gateway {
class TextWorker {
 public:
  static constexpr std::size_t kBytesInPlaceMax = 16384;

  explicit TextWorker(boost::asio::io_context& io) : io_(io), pool_(1) {}
  // Ends the thread; work that runs is waited for.
  void join() {
    pool_.stop();
    pool_.join();
  }

  // work: copies or owns what it needs, throws nothing. bytes: the size of its input.
  template <class Work>
  boost::asio::awaitable<std::invoke_result_t<Work>> run(std::size_t bytes, Work work) {
    if (bytes <= kBytesInPlaceMax) co_return work();
    auto task = std::make_shared<Task<std::invoke_result_t<Work>>>(io_);
    // The guard keeps the io_context running until the answer is back.
    auto guard = boost::asio::make_work_guard(io_);
    boost::asio::post(pool_, [task, guard = std::move(guard), work = std::move(work)]() mutable {
      task->answer.emplace(work());
      boost::asio::post(guard.get_executor(), [task] { task->done.notify(); });
    });
    co_await task->done.wait_until(TimePoint::max());   // notified once, after the answer is there
    co_return std::move(*task->answer);
  }

 private:
  template <class Answer>
  struct Task {
    explicit Task(boost::asio::io_context& io) : done(io.get_executor()) {}
    std::optional<Answer> answer;        // written by the worker before it posts
    Signal done;
  };
  boost::asio::io_context& io_;
  boost::asio::thread_pool pool_;
};
}  // namespace corisco::gateway
