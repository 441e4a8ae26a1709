// What libchorale-mpi and the preload library read from the environment.
#pragma once

#include "ir/or_error.h"
#include "preload/mpi_alltoallv.h"
#include "runtime/alltoallv/read_rates.h"
#include "runtime/device/failure_file.h"

namespace chorale {

// CHORALE_NODES (preload/include/chorale/mpi.h); none where it is not set, or wrong: that is no reason to end
// a program that MPI serves.
inline NodeRates rates_of_nodes() {
  const std::string text = variable("CHORALE_NODES");
  if (text.empty()) return {};
  auto rates = read_or_error([&] { return read_tier_rates(text, "CHORALE_NODES"); });
  return rates ? NodeRates{.rates = *std::move(rates)} : NodeRates{.fault = rates.error().what()};
}

}  // namespace chorale
