// Environment variables of the libraries over NCCL:
//
//   CHORALE_ALGORITHMS   libraries, result files, or directories of these, separated by colons
//   CHORALE_HOST         the host of this process, if its name does not identify it: the same for those of
//                        one host
//   CHORALE_ORDER=fixed  sums by algorithms of one fixed order alone (frontier --order): the same bits for
//                        each size and run
//   CHORALE_FAILED       a file whose first line names what has failed of the machine ("link 0-1"): from the
//                        next call that is not captured on, algorithms of a library for the machine after that
//                        failure are used ('chorale library build --failures 1')
//   CHORALE_FAILED_SIGNAL=USR1  that file is read after this signal alone (or USR2)
//   CHORALE_LOG=1        prints on standard error, once for each kind of call, the algorithm that was used,
//                        or the reason for none
//   CHORALE_CHECK=30     waits after each step, at most that many seconds, and reports the rank, step and
//                        peers that hang
#pragma once

#include <cstdlib>
#include <cstring>

#include "preload/nccl_collectives.h"

namespace chorale {

inline NcclSettings nccl_settings() {
  const auto text = [](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  return {.algorithms = text("CHORALE_ALGORITHMS"),
          .log = *text("CHORALE_LOG") != 0 && std::strcmp(text("CHORALE_LOG"), "0") != 0,
          .check = std::chrono::milliseconds(static_cast<long>(1000 * std::atof(text("CHORALE_CHECK")))),
          .host = text("CHORALE_HOST"),
          .order = text("CHORALE_ORDER"),
          .failure_file = text("CHORALE_FAILED"),
          .failure_signal = text("CHORALE_FAILED_SIGNAL")};
}

}  // namespace chorale
