// What an NVSwitch does at an address that stands for all ranks (multimem; sm_90).
#pragma once

#include <type_traits>

#include "runtime/device/elements.h"

struct Words {
  unsigned word[4];
};
// The sum over all ranks of 16 bytes: of float, or of 16-bit floats, which are added in float.
template <typename Element>
__device__ Words sum_of_all(const void* everywhere) {
  Words sum;
  if constexpr (std::is_same_v<Element, float>)
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(sum.word[0]), "=r"(sum.word[1]), "=r"(sum.word[2]), "=r"(sum.word[3])
                 : "l"(everywhere)
                 : "memory");
  else if constexpr (std::is_same_v<Element, chorale::Float16>)
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%0, %1, %2, %3}, [%4];"
                 : "=r"(sum.word[0]), "=r"(sum.word[1]), "=r"(sum.word[2]), "=r"(sum.word[3])
                 : "l"(everywhere)
                 : "memory");
  else
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
                 : "=r"(sum.word[0]), "=r"(sum.word[1]), "=r"(sum.word[2]), "=r"(sum.word[3])
                 : "l"(everywhere)
                 : "memory");
  return sum;
}
__device__ inline void store_to_all(void* everywhere, const Words& value) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(everywhere),
               "r"(value.word[0]), "r"(value.word[1]), "r"(value.word[2]), "r"(value.word[3])
               : "memory");
}
