// Cayley graphs: a rank for each element of a group, with links from a to a s for each generator s. Every
// rank sees the same machine. Circulants are those of cyclic groups; tori that are twisted in any way, those
// of abelian groups with a pair of generators for each dimension.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/frontier.h"
#include "ir/topology.h"
#include "topology/wiring/group.h"

namespace chorale {

struct CayleyGraph {
  std::shared_ptr<const Group> group = {};
  std::vector<int> generators = {};  // one of each pair of inverses; both are links
  int diameter = 0;
  long long distances = 0;  // from a rank to all others, together
};

// Links out of each rank, the inverses of generators among them.
std::vector<int> links_of(const CayleyGraph&);
int degree(const CayleyGraph&);

// Returns "Z64: 1, 14"
std::string name_of(const CayleyGraph&);

// Returns "torus 8x8", "torus 4x16 twisted by 3": a row of k ranks that wraps, m times, the last of which has
// its links to the first that many ranks further. "" if it has not two generators that commute.
std::string torus_name(const CayleyGraph&);

// Each link with one unit of bandwidth.
Topology machine_of(const CayleyGraph&, double alpha_us, double beta_us_per_byte);

// Diameter and distances; false if some rank is not reached.
bool measure(CayleyGraph&);

// Rounds per chunk that no Alltoall on it is below: the optimum of its fractional flows, or near below it. By
// symmetry all links of a generator and its inverse have one price y, and a block to t pays at least the
// cheapest path to t: rounds * sum of y over a rank's links >= sum over t of distance_y(t). For y = 1 that is
// distances / degree.
Rate alltoall_bound(const CayleyGraph&);

// Returns the same for these prices by generator, >= 0 and not all 0.
Rate priced_bound(const CayleyGraph&, const std::vector<int>& prices);

// Links each way between two halves (of odd ranks one has one more), at most: the narrowest that exchanging
// ranks finds from a few starts.
int narrow_bisection(const Topology&);

}  // namespace chorale
