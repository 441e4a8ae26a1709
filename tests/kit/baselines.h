// Baselines on machines that need not suit all of them.
#pragma once

#include <optional>

#include "construct/baselines/classic.h"
#include "ir/error.h"

namespace chorale::test {

// Returns nullopt where the algorithm needs another machine: a power of two of ranks, or switches that add.
inline std::optional<Point> baseline(Method method, const Topology& topology,
                                     const ClassicOptions& options = {}) {
  try {
    return classic_algorithm(method, topology, options);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace chorale::test
