// The obvious bound of an Alltoall.
#pragma once

#include <gtest/gtest.h>

#include "bounds/clp.h"
#include "ir/topology.h"

namespace chorale::test {

// Fewest rounds per chunk of any fractional Alltoall, by its whole linear program: of each source the units
// over each link.
inline double alltoall_rounds(const Topology& topology) {
  LinearProgram program;
  const int links = static_cast<int>(topology.links.size()), n = topology.ranks;
  for (int i = 0; i < n * links; ++i) program.add_column(0);
  const int rounds = program.add_column(1);
  for (int source = 0; source < n; ++source)
    for (int rank = 0; rank < n; ++rank) {
      if (rank == source) continue;
      const int row = program.add_row(1, 1);
      for (int l = 0; l < links; ++l) {
        if (topology.links[l].dst == rank) program.entries.push_back({row, source * links + l, 1});
        if (topology.links[l].src == rank) program.entries.push_back({row, source * links + l, -1});
      }
    }
  for (int l = 0; l < links; ++l) {
    const int row = program.add_row(0, kNoLimit);
    program.entries.push_back({row, rounds, 1});
    for (int source = 0; source < n; ++source) program.entries.push_back({row, source * links + l, -1});
  }
  const LpSolution solved = solve(program, 1'000'000);
  EXPECT_TRUE(solved.optimal);
  return solved.objective;
}

}  // namespace chorale::test
