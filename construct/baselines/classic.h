// The baseline algorithms that synthesized ones are compared with, as schedules on a given machine.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ir/catalogue.h"
#include "ir/frontier.h"
#include "ir/machine.h"

namespace chorale {

const std::vector<ClassicEntry>& classic_catalogue();

struct ClassicOptions {
  // Pieces that each block is cut into: of a ReduceScatter + Allgather, what one rank owns in between (so an
  // AllReduce of that kind has ranks * chunks of them); of trees, the whole vector, sent as a pipeline. 0:
  // the fewest that use all links which the algorithm needs to use at once.
  int chunks = 0;
  // [position] -> rank in the ring, tree or cube; empty: 0, 1, 2, ... A single ring takes the widest ring of
  // the machine if 0, 1, 2, ... is not a ring.
  std::vector<Rank> order = {};
  Rank root = 0;  // of broadcast, reduce, scatter, gather; `order` is then rotated until it starts there
  // Of what goes between nodes and then inside of them: parts of the first, by the distance of nodes, each of
  // which goes on inside while the next one is between nodes.
  int slices = 1;
  // Not made where it has more sends.
  double most_sends = std::numeric_limits<double>::infinity();
};

// A point with cost, method and the collective whose chunks its schedule moves. The rounds of each step are
// what its fullest link or shared limit needs. Rings and nodes of the machine are found once for all calls.
// Requires a method of the catalogue. Throws InputError for an unknown name, an order that is not a
// permutation, a number of ranks that the algorithm does not support, and a missing link, which it names. The
// caller verifies what it uses (semantics/ is not known here).
Point classic_algorithm(Method, const Machine&, const ClassicOptions& = {});
Point classic_algorithm(const std::string& name, const Machine&, const ClassicOptions& = {});

// Says the same of a method; none where the machine or the options are not for it, and why.
struct Unsuited {
  std::string words = {}, remedy = {};
};
std::optional<Point> classic_if_possible(Method, const Machine&, const ClassicOptions& = {},
                                         Unsuited* why = nullptr);

}  // namespace chorale
