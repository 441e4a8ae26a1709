// An Alltoallv whose counts are known when it is called, as MoE's dispatch and combine are, on nodes of
// ranks: a fast network inside each node, NICs between nodes (two tiers, as in FAST, arXiv 2505.09764). And a
// plan of it: which NICs carry which bytes, and when.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/topology.h"

namespace chorale {

// GB/s = 1e9 bytes per second, in each direction at once.
struct TierRates {
  int nics = 0;           // of a node; 0: one per rank
  double nic_gbs = 50;    // of a NIC
  double node_gbs = 450;  // of a rank to all others of its node together
  double latency_us = 5;  // of a step
  bool operator==(const TierRates&) const = default;
};

struct TwoTiers {
  std::vector<int> node = {};  // by rank: its node, a number from 0
  TierRates rates = {};
};

// Bytes [src * ranks + dst] that a rank has for another, and for itself.
struct ByteCounts {
  int ranks = 0;
  std::vector<std::int64_t> bytes = {};
  std::int64_t at(Rank src, Rank dst) const { return bytes[static_cast<std::size_t>(src) * ranks + dst]; }
  bool operator==(const ByteCounts&) const = default;
};

// Bytes of one block on one path: src -> out -> in -> dst, a hop per step, beginning with `step`. `out` sends
// them over its NIC to `in`; hops between equal ranks are not made. Inside a node there is no such pair, and
// src -> dst is in step + 1.
struct AlltoallvPiece {
  Rank src = 0, dst = 0;
  std::int64_t offset = 0, bytes = 0;  // in the block of src for dst
  Rank out = -1, in = -1;
  int step = 0;
  bool operator==(const AlltoallvPiece&) const = default;
};

// The loads of an Alltoallv, over the NICs of all nodes and both directions.
struct NicLoad {
  std::int64_t most_bytes = 0;  // of a NIC
  double most_over_mean = 1;    // of a NIC, over the mean of its node's; 1: balanced
};

// All pieces of a block together are the block. Blocks of a rank for itself have none.
struct AlltoallvPlan {
  int ranks = 0;
  int steps = 0;
  std::vector<AlltoallvPiece> pieces = {};
  bool direct = false;  // each block goes straight to its rank, in one step
  double us = 0;        // predicted: each step takes its latency and its busiest rank or NIC
  double direct_us = 0;
  double bound_us = 0;  // no Alltoallv takes less, whatever its paths: docs/alltoallv.md
  NicLoad nics = {}, direct_nics = {};
};

}  // namespace chorale
