// Sizes and times as people write them. Binary units (1 KiB = 1024 bytes), three significant digits.
#pragma once

#include <string>

#include "cost/cost.h"

namespace chorale {

std::string format_bytes(double bytes);      // "96 B", "1.5 KiB", "3 MiB", "117 GiB"
std::string format_us(double microseconds);  // "2.5 us", "1.34 ms", "12 s"
std::string format_range(
    const SizeRange&);  // "below 1.5 KiB", "1.5 KiB to 3 MiB", "from 3 MiB", "any", "none"

}  // namespace chorale
