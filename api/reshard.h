// Tensors from one layout to another: from the ranks of a trainer to those of a rollout, M to N, disjoint or
// the same. The Python package reads layouts and cuts tensors into parts (python/chorale/resharding.py); here
// is what is searched for them: a plan, a bound, and the methods that it is compared with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/frontier.h"
#include "ir/search_options.h"

namespace chorale {

// Bytes that the same ranks hold and the same ranks want: at all that hold them, and sent to all that want
// them and do not. `chunks`: of a bundle, all of bytes / chunks; none if all that want it hold it.
struct ReshardPart {
  RankSet holders = {}, wanted = {};
  double bytes = 0;
  int chunks = 0;
};

struct ReshardDemand {
  Rank root = 0;           // the first that holds anything
  RankSet receivers = {};  // all ranks of the layouts after
  std::vector<ReshardPart> parts = {};
  std::vector<ReshardPart> bundles = {};  // what is sent together: each brings parts, or pieces of them
  Collective collective = {};             // of the bundles; custom, "reshard"
};
// As the package writes it, for that many ranks: {"root", "receivers", "parts", "bundles"}, rows of
// [holders, wanted, bytes, chunks].
ReshardDemand reshard_demand_from_json(std::string_view text, int ranks);

// One way to do it. Times are bytes over the busiest link or shared limit, of a packing step by step; steps
// cost nothing.
struct ReshardMethod {
  std::string name = {};
  double us = 0;
  double bytes = 0;         // over all links
  double link_seconds = 0;  // all links together; between nodes alone (NICs) where the machine has nodes
};

struct Resharding {
  ReshardDemand demand = {};
  Result result = {};     // of the collective
  int point = 0;          // of the result: the plan
  std::string plan = {};  // what it is of: "packing", or the name of the fastest of the other methods
  std::optional<double> bound_us = {};  // no schedule takes less; none where time ended before one was known
  bool of_nodes = false;                // link_seconds are of links between nodes
  std::vector<ReshardMethod> methods =
      {};  // "gather and broadcast", "direct sends", "ring of nodes" (where there are nodes), "this plan",
           // which is as fast as each of them
  std::vector<double> link_bytes = {};  // by link of the machine, of this plan
};

// `host` by rank (api/machines.h: hosts_of); empty: not known. `publish`, if given, takes the answer that
// needs no search, before there is one: the fastest of the other methods, without a bound.
Resharding reshard(const Topology&, const ReshardDemand&, const std::vector<int>& host,
                   const FrontierOptions& = {}, const std::function<void(Resharding)>& publish = {});

// What the package makes the report and the plan of: {"ranks", "topology", "plan", "point", "bound_us",
// "of_nodes", "methods", "links", "pieces", "steps"}; steps are null where there is no plan.
std::string to_json(const Resharding&);

}  // namespace chorale
