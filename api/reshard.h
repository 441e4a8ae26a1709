// Tensors from one layout to another: from the ranks of a trainer to those of a rollout, M to N, disjoint or
// the same. Every piece of a tensor is at all ranks that hold it, and goes to all that need it and do not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/files.h"
#include "ir/frontier.h"
#include "ir/search_options.h"

namespace chorale {

// Ranks of the machine as a mesh, the last axis the fastest (PyTorch's DeviceMesh).
struct RankMesh {
  std::vector<Rank> ranks = {};
  std::vector<int> sizes = {};
};

// DTensor's placements, by axis of the mesh: the dimension that it shards, or -1: replicated. A dimension
// that several axes shard is cut by the first of them first; each cut has pieces of ceil(size / parts), the
// last ones smaller or empty.
struct ReshardLayout {
  RankMesh mesh = {};
  std::vector<int> placements = {};
};

struct ReshardTensor {
  std::string name = {};
  std::vector<std::int64_t> shape = {};
  int element_bytes = 2;
  int count = 1;  // of tensors that are alike: layers
  ReshardLayout from = {}, to = {};
};

struct ReshardQuestion {
  std::string name = {};
  std::vector<ReshardTensor> tensors = {};
};
// All ranks of the layouts before, and of those after.
RankSet holders_of(const ReshardQuestion&);
RankSet receivers_of(const ReshardQuestion&);
// {"reshard": name, "from": {"ranks", "mesh"}, "to": {...}, "tensors": [{"name", "shape", "element_bytes",
// "count", "from": ["replicate", "shard(0)"], "to": [...]}]}; a tensor on a mesh of its own (of a stage of a
// pipeline) has {"ranks", "mesh", "placements"} there; docs/formats.md.
ReshardQuestion reshard_from_json(std::string_view text, const std::string& file);

using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;  // by dimension: from, to

// All that the same ranks hold and the same ranks want, of all tensors: links are shared over them.
struct ReshardPart {
  RankSet holders = {}, wanted = {};
  struct Region {
    int tensor = 0;
    Box box = {};
  };
  std::vector<Region> regions = {};  // each of all `count` tensors
  double bytes = 0;
  int first_chunk = 0,
      chunks = 0;  // of the collective, all of bytes / chunks; none if all that want it hold it
};
double bytes_of(const ReshardQuestion&, const ReshardPart::Region&);
std::vector<ReshardPart> reshard_parts(const ReshardQuestion&);

struct ReshardDemand {
  std::vector<ReshardPart> parts = {};  // each piece once, without chunks
  // What moves: parts, and with them pieces of small ones, which are held by all their holders; a rank may
  // get some that it does not want. At the end what stays where it is.
  std::vector<ReshardPart> bundles = {};
  Collective collective = {};  // of the bundles; custom, "reshard"
  double chunk_bytes = 0;      // of a chunk of it; of some bundles fewer
  double bytes = 0;            // that ranks lack, each once for every rank
};
// The ranks of the layouts are below `ranks`.
ReshardDemand reshard_demand(const ReshardQuestion&, int ranks);

// The same demand, in which each part that some rank lacks is one chunk.
ReshardDemand of_whole_parts(ReshardDemand);

// Of each part as many chunks as it has whole ones of these bytes, which are few: what bounds them bounds the
// demand.
struct ReshardFloor {
  Collective collective = {};
  double chunk_bytes = 0;
};
ReshardFloor reshard_floor(const ReshardDemand&);

// By rank of the mesh: what it holds of a tensor.
std::vector<Box> boxes_of(const ReshardLayout&, const std::vector<std::int64_t>& shape);

// One way to do it. Times are bytes over the busiest link or shared limit, of a packing step by step; steps
// cost nothing.
struct ReshardMethod {
  std::string name = {};
  double us = 0;
  double bytes = 0;         // over all links
  double link_seconds = 0;  // all links together; between nodes alone (NICs) where the machine has nodes
};

struct Resharding {
  ReshardQuestion question = {};
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

// `host` by rank (api/machines.h: hosts_of); empty: not known. Throws InputError where nothing has to move.
Resharding reshard(const Topology&, const ReshardQuestion&, const std::vector<int>& host,
                   const FrontierOptions& = {});

// {"chorale_reshard": 1, ...}; docs/formats.md.
std::string to_json(const Resharding&);

// "plan.json" and "reshard_torch.py", a program for torchrun (gloo or another backend) that does the plan on
// tensors and checks every byte.
std::vector<NamedText> reshard_script(const Resharding&);

}  // namespace chorale
