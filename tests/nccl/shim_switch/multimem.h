// A switch that adds and copies, on a CPU: included before the kernel, whose runtime/device/multimem.h has
// nothing where there is no GPU. It adds from another rank on each time, as a switch may.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "nccl_device.h"
#include "runtime/device/elements.h"

namespace chorale {

template <Combination op, typename T, typename Wide>
void switch_load(Wide& value, const void* everywhere) {
  static std::atomic<unsigned> loads = 0;
  using Sum = std::conditional_t<is_short<T>, float, T>;
  constexpr std::size_t count = sizeof(Wide) / sizeof(T);
  std::vector<const void*> all;
  for (int k = 0; const void* const one = shim_one_of(everywhere, k); ++k) all.push_back(one);
  const unsigned first = loads.fetch_add(1, std::memory_order_relaxed);
  Sum sums[count];
  for (std::size_t k = 0; k < all.size(); ++k) {
    T elements[count];
    std::memcpy(elements, all[(first + k) % all.size()], sizeof elements);
    for (std::size_t e = 0; e < count; ++e)
      sums[e] = k == 0 ? static_cast<Sum>(elements[e]) : combined<op>(sums[e], static_cast<Sum>(elements[e]));
  }
  for (std::size_t e = 0; e < count; ++e) value.element[e] = static_cast<T>(sums[e]);
}

template <typename Wide>
void switch_store(void* everywhere, const Wide& value) {
  for (int k = 0; void* const one = shim_one_of(everywhere, k); ++k) std::memcpy(one, &value, sizeof value);
}

inline void switch_add_one(std::uint64_t* everywhere) {
  for (int k = 0; void* const one = shim_one_of(everywhere, k); ++k)
    __atomic_fetch_add(static_cast<std::uint64_t*>(one), 1, __ATOMIC_RELEASE);
}

inline void switch_meet_aliases() {}

}  // namespace chorale
