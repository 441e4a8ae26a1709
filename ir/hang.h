// C++17 without other headers of ours, since it is copied along with emitted programs.
#pragma once

#include <stdexcept>

namespace chorale {

// A message that did not come, or was not taken, in time. what() names rank, step, peer and message.
class Hang : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace chorale
