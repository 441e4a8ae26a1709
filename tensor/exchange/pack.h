// A few elements that follow each other, in registers: how loops and communications read and store in
// kernels, in loads of 16 bytes where addresses are aligned. For hosts and for device code. C++17, and is
// copied into emitted programs.
#pragma once

#include <cstdint>

#include "runtime/device/elements.h"

// Arrays are in registers only if loops over them are unrolled.
#ifdef __CUDACC__
#define CHORALE_UNROLL _Pragma("unroll")
#else
#define CHORALE_UNROLL
#endif

namespace chorale {

// Elements that a thread processes at once: where some have 16 bits, those of a load of 16 bytes.
template <typename... T>
inline constexpr int kWidthOf = ((sizeof(T) <= 2) || ...) ? 8 : 4;

template <typename T, int width>
struct alignas(sizeof(T) * width < 16 ? sizeof(T) * width : 16) Pack {
  T of[width];
};

template <typename T, int width>
CHORALE_DEVICE inline bool is_aligned_for(const T* at) {
  return reinterpret_cast<std::uintptr_t>(at) % alignof(Pack<T, width>) == 0;
}

template <int width, typename T>
CHORALE_DEVICE inline Pack<T, width> pack_at(const T* at) {
#ifdef __CUDA_ARCH__
  if constexpr (width > 1)
    if (is_aligned_for<T, width>(at)) return *reinterpret_cast<const Pack<T, width>*>(at);
#endif
  Pack<T, width> values;
  CHORALE_UNROLL
  for (int k = 0; k < width; ++k) values.of[k] = at[k];
  return values;
}

template <typename T, int width>
CHORALE_DEVICE inline void store_pack(T* at, const Pack<T, width>& values) {
#ifdef __CUDA_ARCH__
  if constexpr (width > 1)
    if (is_aligned_for<T, width>(at)) {
      *reinterpret_cast<Pack<T, width>*>(at) = values;
      return;
    }
#endif
  CHORALE_UNROLL
  for (int k = 0; k < width; ++k) at[k] = values.of[k];
}

}  // namespace chorale
