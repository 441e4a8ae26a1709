#include "cli/interrupt.h"

#include <signal.h>

namespace chorale {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch what cannot block");

void note(int) {
  interrupted = true;
}

}  // namespace

const std::atomic<bool>* watch_for_interrupt() {
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return &interrupted;
}

}  // namespace chorale
