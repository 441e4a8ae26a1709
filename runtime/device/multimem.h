// What an NVSwitch does at an address that stands for the memory of several GPUs (multimem of PTX; sm_90 and
// later), 16 bytes at a time. C++17; copied into emitted programs.
//
// A switch adds floats of 32 and 64 bits and integers, 16-bit floats in float32 with one rounding, and takes
// maxima and minima of integers. Maxima of 16-bit floats it has too, and they drop NaNs where ours keep them;
// floats of 8 bits it adds in 16 (sm_100a); products and 8-bit integers it has not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/device/elements.h"

namespace chorale {

// Whether a switch combines such elements so, with the bits of combined() but for the order of sums.
template <Combination op, typename T>
inline constexpr bool switch_combines =
    op == Combination::Sum ? (std::is_integral_v<T> && sizeof(T) >= 4) || std::is_floating_point_v<T> ||
                                 std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>
                           : op != Combination::Prod&& std::is_integral_v<T> && sizeof(T) >= 4;

#if defined(__CUDACC__)

struct alignas(16) SwitchWords {
  unsigned word[4];
};
struct alignas(16) SwitchPair {
  unsigned long long word[2];
};

#define CHORALE_SWITCH_LOAD4(operation)                                                      \
  asm volatile("multimem.ld_reduce.relaxed.sys.global." operation " {%0, %1, %2, %3}, [%4];" \
               : "=r"(sum.word[0]), "=r"(sum.word[1]), "=r"(sum.word[2]), "=r"(sum.word[3])  \
               : "l"(everywhere)                                                             \
               : "memory")
#define CHORALE_SWITCH_LOAD(operation, letter, result, address)                \
  asm volatile("multimem.ld_reduce.relaxed.sys.global." operation " %0, [%1];" \
               : "=" letter(result)                                            \
               : "l"(address)                                                  \
               : "memory")

// What all ranks have at this address, combined; requires switch_combines.
template <Combination op, typename T, typename Wide>
__device__ void switch_load(Wide& value, const void* everywhere) {
  static_assert(sizeof(Wide) == 16);
  if constexpr (sizeof(T) == 8) {
    SwitchPair sum;
    for (int k = 0; k < 2; ++k) {
      const auto* const address = static_cast<const unsigned long long*>(everywhere) + k;
      if constexpr (std::is_same_v<T, double>) {
        double one;
        CHORALE_SWITCH_LOAD("add.f64", "d", one, address);
        std::memcpy(&sum.word[k], &one, sizeof one);
      } else if constexpr (op == Combination::Sum) {
        CHORALE_SWITCH_LOAD("add.u64", "l", sum.word[k], address);
      } else if constexpr (op == Combination::Max) {
        if constexpr (std::is_signed_v<T>)
          CHORALE_SWITCH_LOAD("max.s64", "l", sum.word[k], address);
        else
          CHORALE_SWITCH_LOAD("max.u64", "l", sum.word[k], address);
      } else {
        if constexpr (std::is_signed_v<T>)
          CHORALE_SWITCH_LOAD("min.s64", "l", sum.word[k], address);
        else
          CHORALE_SWITCH_LOAD("min.u64", "l", sum.word[k], address);
      }
    }
    std::memcpy(&value, &sum, sizeof sum);
  } else {
    SwitchWords sum;
    if constexpr (std::is_same_v<T, float>) {
      CHORALE_SWITCH_LOAD4("add.v4.f32");
    } else if constexpr (std::is_same_v<T, Float16>) {
      CHORALE_SWITCH_LOAD4("add.acc::f32.v4.f16x2");
    } else if constexpr (std::is_same_v<T, Bfloat16>) {
      CHORALE_SWITCH_LOAD4("add.acc::f32.v4.bf16x2");
    } else {
      for (int k = 0; k < 4; ++k) {
        const auto* const address = static_cast<const unsigned*>(everywhere) + k;
        if constexpr (op == Combination::Sum) {
          CHORALE_SWITCH_LOAD("add.u32", "r", sum.word[k], address);
        } else if constexpr (op == Combination::Max) {
          if constexpr (std::is_signed_v<T>)
            CHORALE_SWITCH_LOAD("max.s32", "r", sum.word[k], address);
          else
            CHORALE_SWITCH_LOAD("max.u32", "r", sum.word[k], address);
        } else {
          if constexpr (std::is_signed_v<T>)
            CHORALE_SWITCH_LOAD("min.s32", "r", sum.word[k], address);
          else
            CHORALE_SWITCH_LOAD("min.u32", "r", sum.word[k], address);
        }
      }
    }
    std::memcpy(&value, &sum, sizeof sum);
  }
}
#undef CHORALE_SWITCH_LOAD
#undef CHORALE_SWITCH_LOAD4

template <typename Wide>
__device__ void switch_store(void* everywhere, const Wide& value) {
  SwitchWords words;
  std::memcpy(&words, &value, sizeof words);
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(everywhere),
               "r"(words.word[0]), "r"(words.word[1]), "r"(words.word[2]), "r"(words.word[3])
               : "memory");
}

// One more in the counters of all ranks, after what this thread knows to be done.
__device__ inline void switch_add_one(std::uint64_t* everywhere) {
  asm volatile("multimem.red.release.sys.global.add.u64 [%0], %1;" ::"l"(everywhere), "l"(1ull) : "memory");
}

// What is accessed at an address of one rank, and at one that stands for several, is ordered.
__device__ inline void switch_meet_aliases() {
  asm volatile("fence.proxy.alias;" ::: "memory");
}

#endif

}  // namespace chorale
