// COLUMNS comes first, so that tests and pipes have a fixed width.
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace chorale {
namespace {

constexpr long kUsual = 80;
constexpr long kLeast = 40;  // tables are illegible in less
constexpr long kMost = 1000;

long columns() {
  if (const char* const set = std::getenv("COLUMNS"))
    if (const long wanted = std::strtol(set, nullptr, 10); wanted > 0) return wanted;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kUsual;
}

}  // namespace

// Asked once: a window that is resized during a command does not change the form of its tables.
std::size_t text_width() {
  static const auto width = static_cast<std::size_t>(std::clamp(columns(), kLeast, kMost));
  return width;
}

}  // namespace chorale
