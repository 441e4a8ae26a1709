// Ranks as threads of this process. A message is a pointer that the sender publishes: the receiver copies
// from it into its own buffer, so data move once.
#pragma once

#include <chrono>
#include <functional>

#include "ir/program.h"
#include "runtime/transport.h"

namespace chorale {

// Runs `each_rank` in one thread per rank of the program, each with its transport, and waits for all of them.
// An exception of one stops the others where they wait, and is rethrown. No wait lasts longer than `timeout`.
void on_threads(const Program&, std::chrono::milliseconds timeout,
                const std::function<void(Transport&)>& each_rank);

}  // namespace chorale
