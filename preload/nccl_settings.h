// What the environment says to the libraries over NCCL:
//
//   CHORALE_ALGORITHMS   libraries, result files, or directories of these, separated by colons
//   CHORALE_HOST         on which host this process is, where its name does not say it: those of one host
//                        have the same
//   CHORALE_ORDER=fixed  sums by algorithms of one fixed order alone (frontier --order): the same bits for
//                        each size and run
//   CHORALE_LOG=1        says on standard error, once for each kind of call, which algorithm was used, or why
//                        none
//   CHORALE_CHECK=30     waits after each step, at most so many seconds, and says which rank, step and peers
//                        hang
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
          .order = text("CHORALE_ORDER")};
}

}  // namespace chorale
