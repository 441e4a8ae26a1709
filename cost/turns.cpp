#include "cost/turns.h"

namespace chorale {

bool worth_turns(const Topology& topology, double chunk_bytes) {
  return chunk_bytes * round_beta_us_per_byte(topology) > 100 * step_alpha_us(topology);
}

}  // namespace chorale
