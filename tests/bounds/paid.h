// The least that prices pay a round which charge every link that crosses 1 at least: a program with a row for
// each.
#pragma once

#include <algorithm>

#include "bounds/clp.h"
#include "ir/topology.h"

namespace chorale::test {

template <typename Crosses>  // bool(const Link&)
double least_paid(const Topology& t, const Crosses& crosses) {
  LinearProgram program;
  for (const Link& link : t.links) program.add_column(link.bandwidth);
  for (const SharedLimit& limit : t.limits) program.add_column(limit.bandwidth);
  for (int l = 0; l < static_cast<int>(t.links.size()); ++l) {
    if (!crosses(t.links[l])) continue;
    const int row = program.add_row(1, kNoLimit);
    program.entries.push_back({.row = row, .column = l, .value = 1});
    for (int z = 0; z < static_cast<int>(t.limits.size()); ++z)
      if (std::ranges::count(t.limits[z].links, l) > 0)
        program.entries.push_back({.row = row, .column = static_cast<int>(t.links.size()) + z, .value = 1});
  }
  return solve(program, 10'000).objective;
}

}  // namespace chorale::test
