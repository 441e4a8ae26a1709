#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include "ir/shown.h"

namespace chorale {
namespace {

constexpr const char* kWipe = "\r\x1b[K";
constexpr std::size_t kWidth = 100;  // a longer line would wrap, and then not be overwritten

}  // namespace

ProgressLine::ProgressLine(bool always) : wanted_(always || isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs(kWipe, stderr);
}

void ProgressLine::show(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (!wanted_ || (shown_ && now - last_ < std::chrono::milliseconds(50))) return;
  last_ = now;
  shown_ = true;
  std::fprintf(stderr, "%s%s", kWipe, shown(text.substr(0, kWidth)).c_str());
  std::fflush(stderr);
}

}  // namespace chorale
