// When a rank waits until what it sends has arrived. C++17, and is copied into emitted programs.
//
// A rank that sends in a step and receives nothing would finish the step when the system has taken its data.
// The messages of its next step would then share links with these and delay all of them, the first ones most.
// So the rank waits for the acknowledgement of messages that take longer than an acknowledgement: at 10
// Gbit/s, those above about this many bytes. A rank that receives is held back by what it receives.
#pragma once

#include <cstdint>

namespace chorale {

constexpr std::int64_t kArrives = 1 << 14;  // bytes

constexpr bool waits_for_arrival(bool receives, std::int64_t bytes) {
  return !receives && bytes >= kArrives;
}

}  // namespace chorale
