// A sub-machine in the whole: which of the whole's ranks, links and chunks those of a smaller machine and
// collective are. A node in a cluster, a group of devices that reduces, a ReduceScatter in an AllReduce, a
// ring in a torus. An automorphism is an embedding of a machine in itself.
//
// It carries schedules: a schedule that was made once for the part is a schedule of the whole at each
// position of the part; sequence() and beside() compose such schedules in time and in parallel.
#pragma once

#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

struct Embedding {
  std::vector<Rank> ranks = {};    // rank n of the part is ranks[n] of the whole
  std::vector<LinkId> links = {};  // link l is links[l]
  std::vector<Chunk> chunks = {};  // chunk c is chunks[c]
  bool operator==(const Embedding&) const = default;
};

// A collective and its machine. The topology does not have switches.
struct Task {
  const Topology& topology;
  const Collective& collective;
};

// Why this is not an embedding; empty if it is one. An embedding is one-to-one and in range; a link of the
// part connects the same ranks in the whole; and buffers are windows: what a rank contributes to both the
// part and the whole lies in both inputs at positions that differ by one constant, and likewise what it needs
// of both in the outputs. Links of the whole may be slower: sends that do not fit a round take more rounds.
std::string why_no_embedding(const Embedding&, const Task& part, const Task& whole);

// Everything where it is.
Embedding identity(const Topology&, const Collective&);

// The part in the middle, then the middle in the whole.
Embedding compose(const Embedding& inner, const Embedding& outer);

// Where these ranks lie in the whole and the part's chunks are `chunks`: the i-th of parallel links is the
// i-th. Throws InputError where the whole lacks a link.
Embedding embedding_at(const Topology& part, const Topology& whole, std::vector<Rank> ranks,
                       std::vector<Chunk> chunks);

// The ranks with the links between them, and limits restricted to these links.
Topology part_at(const Topology& whole, const std::vector<Rank>& ranks);

// The part's schedule, done by the whole; each step has as many rounds as its sends need there.
Schedule embedded(const Schedule& part, const Embedding&, const Topology& whole);

// One after the other.
Schedule sequence(Schedule first, const Schedule& then);
// Each chunk cut into `times` chunks, which travel together, in `times` as many rounds: chunk c becomes c *
// times and the following ones, as with_chunks() numbers them.
Schedule cut_finer(const Schedule&, int times);

// At once, step by step, in as many rounds as both together need. Requires that they do not send the same.
Schedule beside(const Schedule&, const Schedule&, const Topology&);

}  // namespace chorale
