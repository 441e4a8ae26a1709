#include "runtime/together.h"

#include <atomic>
#include <thread>

namespace chorale {

void run_together(const std::vector<std::function<void()>>& works) {
  enum class Gate { Closed, Open, GivenUp };
  std::atomic<Gate> gate = Gate::Closed;
  const auto set = [&](Gate now) {
    gate = now;
    gate.notify_all();
  };
  std::vector<std::jthread> threads;  // the last: they are joined before the gate goes
  try {
    for (const auto& work : works)
      threads.emplace_back([&] {
        gate.wait(Gate::Closed);
        if (gate == Gate::Open) work();
      });
  } catch (...) {
    set(Gate::GivenUp);
    throw;
  }
  set(Gate::Open);
}

}  // namespace chorale
