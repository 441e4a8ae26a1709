// How much more a construction may do. Counted in sends looked at, so that the same is done on every machine;
// a person who stops it stops it at once.
#pragma once

#include <atomic>

namespace chorale {

class Effort {
 public:
  Effort(long long most, const std::atomic<bool>* stop) : left_(most), stop_(stop) {}
  bool stopped() const { return stop_ != nullptr && *stop_; }
  // For what is done only while there is effort left.
  bool affords(long long sends) const { return !stopped() && sends <= left_; }
  void spend(long long sends) { left_ -= sends; }

 private:
  long long left_;
  const std::atomic<bool>* stop_;
};

}  // namespace chorale
