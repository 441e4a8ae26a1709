// Work: links, arcs and offers examined, sends scheduled; some 10 ns each. It is counted and not measured, so
// that it is the same on every machine, however busy.
#pragma once

namespace chorale {

// Returns the work of this thread until now, to add to.
inline long long& work_done() {
  static thread_local long long done = 0;
  return done;
}

// Calls `act` and returns its work, as far as this thread does it.
template <class Act>
long long count_work(const Act& act) {
  const long long before = work_done();
  act();
  return work_done() - before;
}

}  // namespace chorale
