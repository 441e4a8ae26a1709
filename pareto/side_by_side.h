// Threads that share a list of tasks.
#pragma once

#include <functional>
#include <vector>

namespace chorale {

// Runs the tasks in order on `jobs` threads, of which this is one. The first exception is thrown here, and
// ends what had not begun.
void side_by_side(const std::vector<std::function<void()>>& tasks, int jobs);

}  // namespace chorale
