// When a rank waits until what it sends has arrived. C++17, and goes along with what is emitted.
//
// A rank that sends in a step and receives nothing would be through when the system has taken its data, and
// begin its next step, whose messages then share the way with these: all are late, and those that wait for
// the first ones most. So it waits for messages that take longer than the word that they have arrived: on 10
// Gbit/s that is about this many bytes. A rank that receives is held back by that.
#pragma once

#include <cstdint>

namespace chorale {

constexpr std::int64_t kArrives = 1 << 14;  // bytes

constexpr bool waits_for_arrival(bool receives, std::int64_t bytes) {
  return !receives && bytes >= kArrives;
}

}  // namespace chorale
