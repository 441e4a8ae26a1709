// For the files of the shim: what all ranks of a communicator make together.
#pragma once

#include <functional>
#include <memory>

#include "nccl.h"

// The n-th call of every rank makes one thing: the first of them by make(ranks), then each joins it, one at a
// time. Comes back when all have; null if they did not within CHORALE_SHIM_TIMEOUT_MS.
std::shared_ptr<void> shim_together(ncclComm_t, std::shared_ptr<void> (*make)(int ranks),
                                    const std::function<void(void*)>& join);
