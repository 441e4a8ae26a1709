// The best wiring of a number of ports for a job: which Cayley graph its ranks are to be linked as.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/frontier.h"

namespace chorale {

struct DesignDemand {
  std::string collective = {};  // "alltoall"
  double weight = 1;            // times in an iteration, > 0
  bool operator==(const DesignDemand&) const = default;
};

// A group, and the connected graphs of it that were compared: sets of generators with their inverses, of
// those that an automorphism of the group carries to each other one.
struct DesignFamily {
  std::string group = {};      // "Z4 x Z16"
  std::string relations = {};  // which define it: "a^4 = 1, b^16 = 1"; (e, f) is a^e b^f
  long long graphs = 0;
  bool operator==(const DesignFamily&) const = default;
};

struct WiringRate {
  Rate bound = {};  // rounds per chunk that no schedule on this wiring is below
  Rate found = {};  // of a schedule that a search found; of 0 rounds: none
  int steps = 0;    // of that schedule
  bool operator==(const WiringRate&) const = default;
};

// Times are of the job: microseconds an iteration at the size of its messages, or of each MiB of messages so
// large that latencies are nothing.
struct DesignedGraph {
  std::string name = {};               // "Z64: 1, 14": the group, a generator of each inverse pair
  std::string alike = {};              // the named machine that it is, "torus:8x8"; ""
  int diameter = 0;                    // hops
  long long distances = 0;             // hops from a rank to all others, together
  int bisection = 0;                   // links each way between halves; of the narrowest that was found
  std::vector<WiringRate> rates = {};  // by collective of the job
  double bound_us = 0, found_us = 0;   // no schedules take less; those found take; 0: none
  bool operator==(const DesignedGraph&) const = default;
};

struct Design {
  int ranks = 0, degree = 0;
  std::vector<DesignDemand> job = {};
  std::int64_t message_bytes = 0;  // 0: large ones
  double alpha_us = 0, link_gbs = 0;
  std::vector<DesignFamily> families = {};
  int groups = 0;                         // compared: the families, and groups without such a graph
  bool all_groups = false;                // these are all groups with as many elements as ranks
  bool all_compared = false;              // every graph of every group was bounded
  long long by_distance = 0;              // graphs that their distances exclude, without a bound of their own
  std::vector<DesignedGraph> best = {};   // at most ten, no two isomorphic, the best first: the design
  std::vector<DesignedGraph> named = {};  // machines by name of as many ranks and links, for comparison
  // No schedules take less on any graph of the families or, if not all were compared, on any machine of as
  // many links at each rank, there and back.
  double bound_us = 0;
  bool proven = false;               // the first of `best` takes no more
  Topology machine = {};             // the first of `best`
  std::vector<Result> results = {};  // on it, by collective
  Stopped stopped = Stopped::No;
  bool operator==(const Design&) const = default;
};

// Returns {"chorale_design": 1, ...}; docs/formats.md.
std::string to_json(const Design&);

}  // namespace chorale
