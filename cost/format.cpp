// The bounds of a range are sizes at which two lines meet: floating-point numbers, printed to three digits.
#include "cost/format.h"

#include "ir/words.h"

namespace chorale {
std::string format_range(const SizeRange& range) {
  if (range.empty()) return "none";
  // Three lines through one point, and the rounding of it.
  if (range.from > 0 && range.to <= range.from * (1 + 1e-9)) return "none";
  if (range.to == kAnySize) return range.from == 0 ? "any" : "from " + format_bytes(range.from);
  if (range.from == 0) return "below " + format_bytes(range.to);
  return format_bytes(range.from) + " to " + format_bytes(range.to);
}

}  // namespace chorale
