// Ctrl-C as a flag that long work looks at.
#pragma once

#include <atomic>

namespace chorale {

// From the first call on, SIGINT and SIGTERM set the flag; a second one ends the program at once.
const std::atomic<bool>* watch_for_interrupt();

}  // namespace chorale
