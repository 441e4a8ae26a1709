// A value, or why there is none: the result of functions whose callers try and go on without it, such as the
// tuner, which tries every transformation. Callers that cannot go on throw the error (or_throw).
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "ir/error.h"

namespace chorale {

// Of functions that only check.
struct [[nodiscard]] MaybeError : std::optional<InputError> {
  using std::optional<InputError>::optional;
};

template <typename T>
class [[nodiscard]] OrError {
 public:
  OrError(T value) : held_(std::move(value)) {}
  OrError(InputError error) : held_(std::move(error)) {}

  explicit operator bool() const { return std::holds_alternative<T>(held_); }
  // Requires the one that it holds.
  T& operator*() & { return std::get<T>(held_); }
  const T& operator*() const& { return std::get<T>(held_); }
  T&& operator*() && { return std::get<T>(std::move(held_)); }
  T* operator->() { return &std::get<T>(held_); }
  const InputError& error() const { return std::get<InputError>(held_); }

  T or_throw() && {
    if (!*this) throw error();
    return std::get<T>(std::move(held_));
  }

 private:
  std::variant<T, InputError> held_;
};

// What a reader makes of a text or a file from outside. Readers throw (ir/error.h); a caller with other files
// to go on with, or a report to write, takes the error as a value. The one place that catches it for that.
template <typename Read>
MaybeError error_of(const Read& read) {
  try {
    read();
    return {};
  } catch (const InputError& error) {
    return error;
  }
}

template <typename Read>
auto read_or_error(const Read& read) -> OrError<decltype(read())> {
  std::optional<decltype(read())> value;
  if (const MaybeError error = error_of([&] { value = read(); })) return *error;
  return *std::move(value);
}

}  // namespace chorale
