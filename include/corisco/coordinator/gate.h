// Holds new requests while the weights are updated, and knows when the running ones are done.
// Owned by the io thread. Held requests enter in the order of their arrival.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <utility>

#include "corisco/base/result.h"

namespace corisco::coordinator {
enum class GateState : std::uint8_t { open, shut, closed };
const char* to_string(GateState state);

class Gate {
 public:
  explicit Gate(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  // One request in flight; leaving is its destructor.
  class Pass {
   public:
    Pass() = default;
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Pass& operator=(Pass&& other) noexcept;
    ~Pass() { leave(); }
    void leave();

   private:
    friend class Gate;
    explicit Pass(Gate* gate) : gate_(gate) {}
    Gate* gate_ = nullptr;
  };
  using OnTurn = std::function<void(Result<Pass>)>;

  // A place in the queue; leaving the queue is its destructor.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&& other) noexcept = default;

   private:
    friend class Gate;
    explicit Place(std::shared_ptr<OnTurn> on_turn) : on_turn_(std::move(on_turn)) {}
    std::shared_ptr<OnTurn> on_turn_;
  };

  // on_turn is called once, before queue() returns if the gate is open or closed: with a pass, or
  // unavailable once closed; never after the place is gone. It must not call the gate.
  // Admission and counting are one step.
  Place queue(OnTurn on_turn);
  // The same for a coroutine, which may be cancelled by its cancellation slot: then cancelled.
  boost::asio::awaitable<Result<Pass>> enter();

  // From now on new requests wait. Those inside go on.
  void shut();
  // Lets the waiting ones in.
  void open();
  // Terminal: those waiting get unavailable.
  void close();
  // Called once, as soon as nobody is inside (at once if so). One waiter at a time; a null one
  // withdraws it.
  void when_empty(std::function<void()> then);

  GateState state() const { return state_; }
  std::size_t num_inside() const { return num_inside_; }
  std::size_t num_waiting() const;

 private:
  Pass admit();
  void leave();
  std::shared_ptr<OnTurn> take_first();

  boost::asio::any_io_executor executor_;
  GateState state_ = GateState::open;
  std::size_t num_inside_ = 0;
  std::list<std::weak_ptr<OnTurn>> waiting_;   // those whose place is gone are skipped
  std::function<void()> when_empty_;
};
}  // namespace corisco::coordinator
