// What libchorale-mpi and the preload library read from the environment.
#pragma once

#include "dispatch/read_rates.h"
#include "ir/error.h"
#include "preload/mpi_alltoallv.h"
#include "runtime/device/failure_file.h"

namespace chorale {

// CHORALE_NODES (include/chorale/mpi.h); none where it is not set, or wrong: that is no reason to end a
// program that MPI serves.
inline NodeRates rates_of_nodes() {
  const std::string text = variable("CHORALE_NODES");
  if (text.empty()) return {};
  try {
    return {.rates = read_tier_rates(text, "CHORALE_NODES")};
  } catch (const InputError& error) {
    return {.fault = error.what()};
  }
}

}  // namespace chorale
