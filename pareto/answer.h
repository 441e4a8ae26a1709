// What is known of one instance after it was asked.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/frontier.h"
#include "ir/search_options.h"

namespace chorale {

struct Answer {
  Verdict verdict = Verdict::Unknown;
  std::optional<Point> point = {};  // Sat: verified
  std::optional<Claim> claim =
      {};                  // Unsat: with a certificate that was checked (engine Sat), or none (other engines)
  bool too_large = false;  // Unknown since no formula of that size is built, whatever the limits
  std::int64_t conflicts = 0;
  double cpu_seconds = 0;
};

}  // namespace chorale
