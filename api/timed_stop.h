// Constructions and simulations poll a stop flag and no clock. Under `chorale` the supervisor sets it at the
// time limit of the command; for any other caller, and for a part of a command, a thread here does.
#pragma once

#include <time.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>

#include "ir/frontier.h"
#include "ir/search_options.h"

namespace chorale {

// Of a question with a time limit, a stop flag that becomes true at the limit, and soon after the caller's.
class TimedStop {
 public:
  // Whose time the limit is of: a thread has less of it where a machine is busy.
  enum class Clock { Wall, ThisThread };

  // Replaces the stop flag of the options; nothing where they have no time limit.
  explicit TimedStop(FrontierOptions&, Clock = Clock::Wall);

  // Why a search ended whose only information was the stop flag, and the limit that it was.
  void record_why(Result&) const;

 private:
  std::chrono::nanoseconds now() const;
  void watch(const std::stop_token& done, std::chrono::nanoseconds deadline);

  const clockid_t timer_;
  const std::atomic<bool>* const asked_;
  const std::chrono::milliseconds limit_;
  const std::shared_ptr<std::atomic<bool>> over_ = std::make_shared<std::atomic<bool>>(false);
  std::jthread clock_ = {};  // the last: it uses the others
};

}  // namespace chorale
