// Long work, which Python can watch and end. The work has a thread of its own, without the interpreter; the
// caller's thread wakes twenty times per second, passes news to Python's callback, and hears of signals. So
// callbacks run where Python code expects them, other Python threads run meanwhile, and what a callback or a
// signal handler raises ends the work.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

#include "bindings.h"

namespace chorale {

// The last report of the work.
template <typename News>
class Latest {
 public:
  void say(const News& news) {
    const std::lock_guard lock(mutex_);
    news_ = news;
  }
  std::optional<News> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::optional<News> news_;
};

// What the work gave, and what was raised while it ran, if anything; both, since what was found until then is
// worth keeping.
template <typename Value>
struct Watched {
  Value value = {};
  std::exception_ptr raised = {};
};

// `tell` is called with the interpreter held; `stop` is set once it, or a signal's handler, has raised.
template <typename Work>
auto watched(Work work, std::atomic<bool>& stop, const std::function<void()>& tell)
    -> Watched<decltype(work())> {
  constexpr std::chrono::milliseconds kPollInterval{50};
  Watched<decltype(work())> result;
  const auto look = [&] {
    if (result.raised) return;  // the work is about to end
    const py::gil_scoped_acquire python;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      tell();
    } catch (...) {
      result.raised = std::current_exception();
      stop = true;
    }
  };
  const py::gil_scoped_release others;
  std::future<decltype(work())> done = std::async(std::launch::async, std::move(work));
  while (done.wait_for(kPollInterval) != std::future_status::ready) look();
  look();  // the last report, however short the work was
  result.value = done.get();
  return result;
}

}  // namespace chorale
