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

// What messages of a plan (runtime/exchange/message_plan.h) keep beside what follows from memory: nothing,
// where ranks read each other's memory; that each step follows the one before, where a transport waits for
// all at once; that sends of a lane do, where they share a port.
enum class MessageOrder { Memory, Steps, Lanes };

constexpr bool waits_for_arrival(bool receives, std::int64_t bytes) {
  return !receives && bytes >= kArrives;
}

}  // namespace chorale
