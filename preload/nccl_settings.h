// Environment variables of the libraries over NCCL:
//
//   CHORALE_ALGORITHMS   libraries, result files, or directories of these, separated by colons
//   CHORALE_HOST         the host of this process, if its name does not identify it: the same for those of
//                        one host
//   CHORALE_ORDER=fixed  sums by algorithms of one fixed order alone (frontier --order): the same bits for
//                        each size and run
//   CHORALE_FAILED       a file whose first line names what has failed of the machine ("link 0-1"): from the
//                        next call that is not captured on, algorithms of a library for the machine after
//                        that failure are used ('chorale library build --failures 1')
//   CHORALE_FAILED_SIGNAL=USR1  that file is read after this signal alone (or USR2)
//   CHORALE_LOG=1        prints on standard error, once for each kind of call, the algorithm that was used,
//                        or the reason for none
//   CHORALE_CHECK=30     waits after each step, at most that many seconds, and reports the rank, step and
//                        peers that hang
#pragma once

#include <cstdlib>
#include <string>

#include "preload/nccl_collectives.h"

namespace chorale {

inline NcclSettings nccl_settings() {
  const std::string log = variable("CHORALE_LOG");
  return {.algorithms = variable("CHORALE_ALGORITHMS"),
          .log = !log.empty() && log != "0",
          .check = std::chrono::milliseconds(
              static_cast<long>(1000 * std::atof(variable("CHORALE_CHECK").c_str()))),
          .host = variable("CHORALE_HOST"),
          .order = variable("CHORALE_ORDER"),
          .failure_file = variable("CHORALE_FAILED"),
          .failure_signal = variable("CHORALE_FAILED_SIGNAL")};
}

}  // namespace chorale
