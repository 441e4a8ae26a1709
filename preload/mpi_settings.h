// What libchorale-mpi and the preload library read from the environment.
#pragma once

#include <optional>
#include <string>

#include "dispatch/read_rates.h"
#include "runtime/device/failure_file.h"

namespace chorale {

// CHORALE_NODES (include/chorale/mpi.h); none where it is not set. Throws InputError.
inline std::optional<TierRates> rates_of_nodes() {
  const std::string text = variable("CHORALE_NODES");
  return text.empty() ? std::nullopt : std::optional(read_tier_rates(text, "CHORALE_NODES"));
}

}  // namespace chorale
