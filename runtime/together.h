// Threads that wait for each other: all of them run, or none does.
#pragma once

#include <functional>
#include <vector>

namespace chorale {

// Runs each of these in a thread of its own and returns when all have ended. None of them begins before there
// is a thread for each; std::system_error where the system or a memory limit refuses
// one. They must not throw.
void run_together(const std::vector<std::function<void()>>& works);

}  // namespace chorale
