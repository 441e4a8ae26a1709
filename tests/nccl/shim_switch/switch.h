// A switch that adds and copies, on a CPU: for a copy of an emitted directory, instead of its own switch.h.
#pragma once

#include <cstring>
#include <vector>

#include "nccl_device.h"
#include "runtime/device/elements.h"

struct Words {
  unsigned word[4];
};

template <typename Element>
Words sum_of_all(const void* everywhere) {
  constexpr std::size_t count = sizeof(Words) / sizeof(Element);
  float sums[count] = {};
  for (int k = 0; const void* const one = shim_one_of(everywhere, k); ++k) {
    Element elements[count];
    std::memcpy(elements, one, sizeof(Words));
    for (std::size_t e = 0; e < count; ++e) sums[e] += static_cast<float>(elements[e]);
  }
  Element rounded[count];
  for (std::size_t e = 0; e < count; ++e) rounded[e] = static_cast<Element>(sums[e]);
  Words words;
  std::memcpy(&words, rounded, sizeof words);
  return words;
}

inline void store_to_all(void* everywhere, const Words& value) {
  for (int k = 0; void* const one = shim_one_of(everywhere, k); ++k) std::memcpy(one, &value, sizeof value);
}
