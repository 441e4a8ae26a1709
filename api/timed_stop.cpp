// A search polls one flag. This object makes a flag of its own that becomes true at the caller's flag or at
// the time limit, whichever is first, by a thread that reads both every 20 ms. Functions that the search
// published may be called later than this object lives, so they share the flag.
#include "api/timed_stop.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>

namespace chorale {
namespace {

clockid_t timer_of_this_thread() {
  clockid_t timer = CLOCK_MONOTONIC;
  pthread_getcpuclockid(pthread_self(), &timer);
  return timer;
}

}  // namespace

TimedStop::TimedStop(FrontierOptions& options, Clock clock)
    : timer_(clock == Clock::Wall ? CLOCK_MONOTONIC : timer_of_this_thread()),
      asked_(options.synthesis.limits.stop),
      limit_(options.time_limit) {
  if (options.time_limit.count() < 0) return;
  const std::chrono::nanoseconds deadline = now() + options.time_limit;
  options.synthesis.limits.stop = over_.get();
  // The function that returns what was found may be called after this object is gone.
  if (options.publish)
    options.publish = [publish = options.publish, kept = over_](const std::function<Result()>& found) {
      publish([found, kept] { return found(); });
    };
  try {
    clock_ = std::jthread([this, deadline](const std::stop_token& done) { watch(done, deadline); });
  } catch (const std::system_error&) {  // no memory for a thread: the search still checks its own clock
    options.synthesis.limits.stop = asked_;
  }
}

// A search that its flag ended reports an interruption; if the caller's flag is not set, it was the time.
void TimedStop::record_why(Result& result) const {
  if (!clock_.joinable() || result.stopped != Stopped::Interrupted || (asked_ != nullptr && *asked_)) return;
  result.stopped = Stopped::TimeLimit;
  result.limits.time_ms = limit_.count();
}

std::chrono::nanoseconds TimedStop::now() const {
  timespec time = {};
  clock_gettime(timer_, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void TimedStop::watch(const std::stop_token& done, std::chrono::nanoseconds deadline) {
  constexpr std::chrono::milliseconds kOften{20};
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  while (!done.stop_requested()) {
    const std::chrono::nanoseconds left = deadline - now();
    if (left.count() <= 0 || (asked_ != nullptr && *asked_)) {
      *over_ = true;
      return;
    }
    changed.wait_for(lock, done, std::min<std::chrono::nanoseconds>(left, kOften), [] { return false; });
  }
}

}  // namespace chorale
