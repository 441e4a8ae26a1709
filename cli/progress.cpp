// One line, rewritten in place. Callers may report a thousand times a second, so it is painted at most every
// kBetween; tick() repaints it, since the clock in it runs on while nothing is reported.
#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/layout.h"
#include "ir/shown.h"

namespace chorale {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// To the first column, and erase to the end of the line (ANSI).
constexpr const char* kWipe = "\r\x1b[K";
constexpr milliseconds kBetween{50};

}  // namespace

ProgressLine::ProgressLine() : wanted_(isatty(STDERR_FILENO) == 1) {}

// The old text is freed after the lock is released: swapped, not assigned.
void ProgressLine::show(std::string what) {
  if (!wanted_) return;
  what = shown(what);
  const std::lock_guard lock(mutex_);
  what_.swap(what);
  const auto now = steady_clock::now();
  if (!shown_ || now - last_ >= kBetween) paint(now);
}

// The line goes above the one that is rewritten, which is painted again below it.
void ProgressLine::log(const std::string& line) {
  if (!wanted_) return;
  const std::string text = shown(line);
  const std::lock_guard lock(mutex_);
  std::fprintf(stderr, "%s%s\n", shown_ ? kWipe : "", text.c_str());
  if (shown_) paint(steady_clock::now());
  std::fflush(stderr);
}

void ProgressLine::tick() {
  const std::lock_guard lock(mutex_);
  if (!what_.empty()) paint(steady_clock::now());
}

void ProgressLine::wipe() {
  const std::lock_guard lock(mutex_);
  if (shown_) std::fputs(kWipe, stderr);
  shown_ = false;
  what_.clear();
}

// Allocates nothing: the clock runs even if no memory is left.
void ProgressLine::paint(steady_clock::time_point now) {
  last_ = now;
  shown_ = true;
  char clock[32];
  const int most =
      static_cast<int>(text_width()) - 1;  // a longer line would wrap, and then not be overwritten
  const int seconds =
      static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(now - started_).count());
  const int width = std::snprintf(clock, sizeof clock, "%d s; ", seconds);
  std::fprintf(stderr, "%s%s%.*s", kWipe, clock, std::max(most - width, 0), what_.c_str());
  std::fflush(stderr);
}

}  // namespace chorale
