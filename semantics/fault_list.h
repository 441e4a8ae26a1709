// Faults in words, at most so many: what the referees of this room say.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace chorale {

// For classes that look for faults.
class FaultList {
 protected:
  explicit FaultList(int limit) : limit_(limit) {}
  ~FaultList() = default;

  bool full() const { return static_cast<int>(found_.size()) >= limit_; }

  // Nothing any more once it is full.
  template <typename... Arguments>
  void say(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (!full()) found_.push_back(fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  std::vector<std::string> found_ = {};

 private:
  const int limit_;
};

}  // namespace chorale
