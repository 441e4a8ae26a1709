// Tasks are dealt out one by one, by a counter, so a long one holds up no other. The calling thread takes
// part. After a failure the counter stands at the end, what has begun is finished, and all threads have ended
// before the exception goes on.
#include "pareto/side_by_side.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace chorale {

void side_by_side(const std::vector<std::function<void()>>& tasks, int jobs) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) {
      try {
        tasks[i]();
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = tasks.size();
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int j = 1; j < jobs; ++j) threads.emplace_back(work);
  work();
  threads.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace chorale
