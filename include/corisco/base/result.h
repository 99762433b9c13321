// Operating errors as values: Result<T> holds a value or an Error with a small closed code.
// Bugs are asserts (assert.h); exceptions stay in the file that calls the library that throws.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "corisco/base/assert.h"

namespace corisco {
enum class Code : std::uint8_t {
  invalid_argument,  // the caller's input is wrong, and the same again is wrong again
  not_found,
  conflict,          // not in this state
  overloaded,        // a bound is reached: later
  timeout,
  cancelled,
  unavailable,       // a part that is needed is not there now
  internal,
};
const char* to_string(Code code);

// What was tried, with what, and what to do about it.
struct Error {
  Code code = Code::internal;
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
  using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

 public:
  Result()
    requires std::is_void_v<T>
  = default;
  Result(Value value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const noexcept { return state_.index() == 0; }
  Value& value() & {
    check_ok();
    return std::get<0>(state_);
  }
  const Value& value() const& {
    check_ok();
    return std::get<0>(state_);
  }
  Value&& value() && {
    check_ok();
    return std::get<0>(std::move(state_));
  }
  const Error& error() const {
    CORISCO_ASSERT(!ok(), std::string("error() of a Result that holds a value"));
    return std::get<1>(state_);
  }

 private:
  void check_ok() const {
    CORISCO_ASSERT(ok(), "value() of an error: " + std::get<1>(state_).message);
  }
  std::variant<Value, Error> state_;
};
}  // namespace corisco

// CORISCO_TRY(auto ids, tokenizer.encode(text)): on an error, returns it from the caller.
#define CORISCO_CONCAT_INNER(a, b) a##b
#define CORISCO_CONCAT(a, b) CORISCO_CONCAT_INNER(a, b)
#define CORISCO_TRY(declaration, expression)                                          \
  auto CORISCO_CONCAT(result_, __LINE__) = (expression);                              \
  if (!CORISCO_CONCAT(result_, __LINE__).ok())                                        \
    return CORISCO_CONCAT(result_, __LINE__).error();                                 \
  declaration = std::move(CORISCO_CONCAT(result_, __LINE__)).value()
// The same for a Result<void>.
#define CORISCO_CHECK(expression)                                                     \
  do {                                                                                \
    auto corisco_checked = (expression);                                              \
    if (!corisco_checked.ok()) return corisco_checked.error();                        \
  } while (false)
