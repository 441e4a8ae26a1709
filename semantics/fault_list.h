// Collects faults, up to a limit: the reports of the verifiers of this room.
#pragma once

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "ir/error.h"

namespace chorale {

// A base of classes that search for faults.
class FaultList {
 protected:
  using Kind = Fault::Kind;

  explicit FaultList(int limit) : limit_(limit) {}
  ~FaultList() = default;

  bool full() const { return static_cast<int>(found_.size()) >= limit_; }

  // Adds nothing once the list is full.
  template <typename... Arguments>
  void report(Kind kind, const FaultPlace& place, fmt::format_string<Arguments...> text,
              Arguments&&... arguments) {
    if (!full())
      found_.push_back(
          {.kind = kind, .place = place, .words = fmt::format(text, std::forward<Arguments>(arguments)...)});
  }
  void say(Fault fault) {
    if (!full()) found_.push_back(std::move(fault));
  }

  std::vector<Fault> found_ = {};

 private:
  const int limit_;
};

}  // namespace chorale
