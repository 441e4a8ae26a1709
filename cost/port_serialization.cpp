// Of the worst latency and the worst rate, as a step has them: bytes x beta >= 100 alpha.
#include "cost/port_serialization.h"

#include <limits>

namespace chorale {

double serialized_above(const Topology& topology) {
  const double us_per_byte = round_beta_us_per_byte(topology);
  return us_per_byte > 0 ? 100 * step_alpha_us(topology) / us_per_byte
                         : std::numeric_limits<double>::infinity();
}

}  // namespace chorale
