// Counters that ranks raise and wait for, in memory that they share: release and acquire at system scope, on
// a GPU and between threads of a CPU alike. C++17; copied into emitted programs.
//
// Release and acquire on one counter are all the synchronization there is: what was stored before a counter
// was raised is visible to every thread that has read the raised value, and to the threads that synchronize
// with those. The verifier of peer programs assumes no more (semantics/verify_peers.h, by vector clocks), so
// nothing stronger is needed. Waits are bounded everywhere: the first wait that times out is recorded, and
// ends all others.
#pragma once

#include <cstdint>

#if !defined(__CUDA_ARCH__)
#include <chrono>
#include <thread>
#endif

#include "runtime/device/elements.h"  // CHORALE_DEVICE

namespace chorale {

CHORALE_DEVICE inline void store_release(std::uint64_t* counter, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(counter), "l"(value) : "memory");
#else
  __atomic_store_n(counter, value, __ATOMIC_RELEASE);
#endif
}

CHORALE_DEVICE inline std::uint64_t load_acquire(const std::uint64_t* counter) {
#if defined(__CUDA_ARCH__)
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(counter) : "memory");
  return value;
#else
  return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
#endif
}

// Time of a monotonic clock.
CHORALE_DEVICE inline std::uint64_t nanoseconds() {
#if defined(__CUDA_ARCH__)
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
#endif
}

// The first wait that timed out, of all blocks of all ranks. All zero at the start.
struct Trouble {
  std::uint64_t state = 0;  // 1 while it is written, 2 afterwards
  int block = -1;           // of the table of blocks
  int slice = -1;
  int row = -1;  // of the block's
};

CHORALE_DEVICE inline bool claim(Trouble* trouble) {
#if defined(__CUDA_ARCH__)
  return atomicCAS_system(reinterpret_cast<unsigned long long*>(&trouble->state), 0ull, 1ull) == 0;
#else
  std::uint64_t none = 0;
  return __atomic_compare_exchange_n(&trouble->state, &none, std::uint64_t{1}, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
#endif
}

// The time limit of waits; 0: there is none.
struct Patience {
  std::uint64_t nanoseconds = 60'000'000'000;
  Trouble* trouble = nullptr;  // not null
};

// Waits until value_now() is at least this. False if that took too long, or if another wait has timed out:
// results are invalid from then on. The clock and the trouble of the others are read every 256 iterations
// only, and the time counts from the first such read: most waits end before it.
template <typename ValueNow>
CHORALE_DEVICE bool wait_for(ValueNow value_now, std::uint64_t value, const Patience& patience, int block,
                             int slice, int row) {
  std::uint64_t start = 0;
  for (unsigned spins = 0; value_now() < value; ++spins) {
#if !defined(__CUDA_ARCH__)
    std::this_thread::yield();  // there may be fewer cores than blocks
#endif
    if ((spins & 255) != 255) continue;
    if (load_acquire(&patience.trouble->state) != 0) return false;
    const std::uint64_t now = nanoseconds();
    if (start == 0) start = now;
    if (patience.nanoseconds == 0 || now - start < patience.nanoseconds) continue;
    // The first one describes itself. State 2 is stored last, so a thread that reads it reads the rest.
    if (claim(patience.trouble)) {
      patience.trouble->block = block;
      patience.trouble->slice = slice;
      patience.trouble->row = row;
      store_release(&patience.trouble->state, 2);
    }
    return false;
  }
  return true;
}

}  // namespace chorale
