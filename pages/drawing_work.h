// The work that a page may take, counted and not timed: what is drawn of a large result ends with it, and a
// page that is made after a limit or Ctrl-C has nearly none left.
#pragma once

#include <atomic>

namespace chorale {

// Units are of some ten nanoseconds: a pair of nodes in a layout, a node that a line may run over, a send
// that is looked at for a round.
inline constexpr long long kMaxDrawingWork = 200'000'000;
inline constexpr long long kMaxDrawingWorkOnceStopped = 2'000'000;  // small machines look as ever

class DrawingWork {
 public:
  explicit DrawingWork(const std::atomic<bool>* stop = nullptr, long long most = kMaxDrawingWork,
                       long long once_stopped = kMaxDrawingWorkOnceStopped)
      : stop_(stop), left_(most), left_once_stopped_(once_stopped) {}

  // Takes so much; false: there is less left, and the caller draws something simpler.
  bool take(long long work) {
    if (work > left()) return false;
    left_ -= work;
    if (is_stopped()) left_once_stopped_ -= work;
    taken_ += work;
    return true;
  }
  long long left() const { return is_stopped() && left_once_stopped_ < left_ ? left_once_stopped_ : left_; }
  long long taken() const { return taken_; }

 private:
  bool is_stopped() const { return stop_ != nullptr && *stop_; }

  const std::atomic<bool>* stop_;
  long long left_, left_once_stopped_, taken_ = 0;
};

}  // namespace chorale
