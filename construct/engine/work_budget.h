// The work budget that a construction has left. It is counted in sends examined, so that the same work is
// done on every machine; a stop by the user takes effect at once.
#pragma once

#include <atomic>
#include <cstddef>

#include "ir/work.h"

namespace chorale {

class WorkBudget {
 public:
  WorkBudget(long long most, const std::atomic<bool>* stop) : left_(most), stop_(stop) {}
  bool stopped() const { return stop_ != nullptr && *stop_; }
  // For what is done only while there is effort left.
  bool affords(long long sends) const { return !stopped() && sends <= left_; }
  void spend(long long sends) {
    left_ -= sends;
    work_done() += sends;
  }
  // One of so many equal parts of what is left, which is spent.
  WorkBudget part(std::size_t parts) {
    const long long each = left_ / static_cast<long long>(parts);
    left_ -= each;
    return WorkBudget(each, stop_);
  }
  // What a part did not need is there again.
  void take_back(const WorkBudget& part) { left_ += part.left_; }

 private:
  long long left_;
  const std::atomic<bool>* stop_;
};

}  // namespace chorale
