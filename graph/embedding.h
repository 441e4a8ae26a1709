// A sub-machine in the whole: which of the whole's ranks, links and chunks those of a smaller machine and
// collective are. A node in a cluster, a group of devices that reduces, a ReduceScatter in an AllReduce, a
// ring in a torus. An automorphism is an embedding of a machine in itself.
//
// It carries schedules: a schedule that was made once for the part is a schedule of the whole at each
// position of the part; sequence() and beside() compose such schedules in time and in parallel.
#pragma once

#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// An embedding is one-to-one; a link of the part connects the same ranks in the whole, where it may be
// slower.
struct Embedding {
  std::vector<Rank> ranks = {};    // rank n of the part is ranks[n] of the whole
  std::vector<LinkId> links = {};  // link l is links[l]
  std::vector<Chunk> chunks = {};  // chunk c is chunks[c]
  bool operator==(const Embedding&) const = default;
};

// A task is a collective and its machine, which does not have switches.
struct Task {
  const Topology& topology;
  const Collective& collective;
};

// Leaves everything where it is.
Embedding identity(const Topology&, const Collective&);

// Embeds the part in the middle, then the middle in the whole.
Embedding compose(const Embedding& inner, const Embedding& outer);

// Returns the ranks with the links between them, and limits restricted to these links.
Topology part_at(const Topology& whole, const std::vector<Rank>& ranks);

// Returns the part's schedule as the whole performs it; each step has as many rounds as its sends need there.
Schedule embedded(const Schedule& part, const Embedding&, const Topology& whole);

// Performs one after the other.
Schedule sequence(Schedule first, const Schedule& then);
// Cuts each chunk into `times` chunks, which travel together, in `times` as many rounds: chunk c becomes c *
// times and the following ones, as with_chunks() numbers them.
Schedule cut_finer(const Schedule&, int times);

// Performs both at once, step by step, in as many rounds as both together need. Requires that they do not
// send the same.
Schedule beside(const Schedule&, const Schedule&, const Topology&);

}  // namespace chorale
