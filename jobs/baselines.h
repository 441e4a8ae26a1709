// What runs today, for comparison: baseline algorithms (construct/classic.h), each at the best of its chunk
// counts for each size.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/named.h"
#include "ir/topology.h"

namespace chorale {

// What the baselines are.
enum class BaselineSet {
  Auto,  // as NCCL where the machine has the links for one of its algorithms, else as MPI
  Nccl,  // rings over all links and double binary trees (AllReduce), rings (Allgather, ReduceScatter),
         // direct messages (Alltoall)
  Mpi,   // all that are known of the collective
};

std::span<const Named<BaselineSet>> baseline_sets();  // "auto", "nccl", "mpi"

// A baseline at its best: of the chunk counts that were tried, the fastest at each size.
struct Baseline {
  std::string name = {};        // of known_classics(): "multi_ring_allreduce"
  std::vector<double> us = {};  // [size] -> microseconds
};

// With the points that are the fastest at some size.
struct TimedBaseline {
  Baseline times = {};
  std::vector<Point> points = {};
  std::vector<std::size_t> fastest = {};  // [size] -> the point
};

// Of a machine without switches; `blocks` are sizes of blocks, in bytes. None for machines on which the
// algorithms that use all links are too large: a comparison with the others alone would flatter. Once `stop`
// is true each has its own choice of a chunk count alone, and those that are long to simulate are left out.
std::vector<TimedBaseline> timed_baselines(const Topology&, const Collective&, BaselineSet,
                                           const std::vector<std::int64_t>& blocks,
                                           const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
