#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include "cli/terminal.h"
#include "ir/shown.h"

namespace chorale {
namespace {

constexpr const char* kWipe = "\r\x1b[K";
}  // namespace

ProgressLine::ProgressLine(ShowProgress when)
    : wanted_(when == ShowProgress::Always ||
              (when == ShowProgress::OnTerminal && isatty(STDERR_FILENO) == 1)) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs(kWipe, stderr);
}

void ProgressLine::show(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (!wanted_ || (shown_ && now - last_ < std::chrono::milliseconds(50))) return;
  last_ = now;
  shown_ = true;
  const std::size_t most = text_width() - 1;  // a longer line would wrap, and then not be overwritten
  std::fprintf(stderr, "%s%s", kWipe, shown(text.substr(0, most)).c_str());
  std::fflush(stderr);
}

}  // namespace chorale
