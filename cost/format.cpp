#include "cost/format.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <span>

namespace chorale {
namespace {

struct Unit {
  double size = 1;
  const char* name = "";
};

std::string with_unit(double value, std::span<const Unit> units) {
  if (std::isinf(value)) return "unlimited";
  const auto three_digits = [](double x) {
    const double step = x < 10 ? 0.01 : x < 100 ? 0.1 : 1;
    return std::round(x / step) * step;
  };
  // A unit is too small if what it would show is one of the next: 1023.9 KiB is 1 MiB.
  std::size_t u = 0;
  while (u + 1 < units.size() && three_digits(value / units[u].size) * units[u].size >= units[u + 1].size)
    ++u;
  std::array<char, 64> text = {};
  std::snprintf(text.data(), text.size(), "%.*f",
                value / units[u].size < 10    ? 2
                : value / units[u].size < 100 ? 1
                                              : 0,
                three_digits(value / units[u].size));
  std::string number = text.data();
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return number + " " + units[u].name;
}

}  // namespace

std::string format_bytes(double bytes) {
  static constexpr Unit kUnits[] = {
      {1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}, {1099511627776, "TiB"}};
  return with_unit(bytes, kUnits);
}

std::string format_us(double microseconds) {
  static constexpr Unit kUnits[] = {{1, "us"}, {1e3, "ms"}, {1e6, "s"}};
  return with_unit(microseconds, kUnits);
}

std::string format_range(const SizeRange& range) {
  if (range.empty()) return "none";
  // Three lines through one point, and the rounding of it.
  if (range.from > 0 && range.to <= range.from * (1 + 1e-9)) return "none";
  if (range.to == kAnySize) return range.from == 0 ? "any" : "from " + format_bytes(range.from);
  if (range.from == 0) return "below " + format_bytes(range.to);
  return format_bytes(range.from) + " to " + format_bytes(range.to);
}

}  // namespace chorale
