// The combination trees of a schedule: in which order each destination of a chunk adds up its contributions.
//
// A partial sum is *used* if a destination's value is made of it, or it is one. What a rank holds after a
// step has been added up. So the ranks agree on the bits of a chunk just if any two of its used partial sums
// are nested or disjoint, as sets of contributions: then these sets are the nodes of one tree, along which
// every rank can add. If two overlap, two destinations add in orders that differ, whatever is done inside a
// step.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/sum_order.h"
#include "ir/topology.h"

namespace chorale {

// A send of one chunk.
struct ChunkSend {
  int step = 0;  // counted from 1
  Send send = {};
};

// What a rank adds up of a chunk in a step, in the order in which it is to be done. Value 0 is what the rank
// keeps, or what replaces that; value k is the k-th send that adds in this step to this rank, as the schedule
// has them.
struct SumMade {
  int step = 0;  // counted from 1
  Rank rank = 0;
  std::vector<Addition> additions = {};  // the last one makes the value that the rank then holds
};

struct ChunkSums {
  std::vector<SumMade> sums = {};  // by step and rank
  std::string disagreement = {};   // in words, where the order that the collective asks for is not kept
  // Equal used sums are made of equal values, so that ranks agree even if what meets in a step is added in no
  // stated order, as an operation of several operands. Where not, a sum is made at once here and by parts
  // there.
  bool alike = true;
};

// Of a chunk of a collective that combines; `sends` by step. Requires that the schedule has no other
// violations.
ChunkSums sums_of(const Topology&, const Collective&, Chunk, std::span<const ChunkSend> sends);

// All sends of all chunks, chunk after chunk and by step; those of chunk c begin at `begin[c]`, which has one
// entry more.
struct SendsByChunk {
  std::vector<ChunkSend> sends = {};
  std::vector<std::size_t> begin = {};
  std::span<const ChunkSend> of(Chunk c) const {
    return std::span(sends).subspan(begin[c], begin[c + 1] - begin[c]);
  }
};
SendsByChunk sends_by_chunk(const Collective&, const Schedule&);

// ChunkSums::alike of all chunks that ask for an order.
bool sums_are_alike(const Topology&, const Collective&, const Schedule&);

// Returns in which order copies that share an output position are added up there: `chunks` has them, and so
// the additions number them. Of a fixed order, by the rank that has each at the start.
std::vector<Addition> local_sum(const Collective&, std::span<const Chunk> chunks);

// Is each sum made at once, in one place and of all contributions ("once" of parse_sum_order)? Then no
// partial sum travels, and operations that add have all operands, in the order of the ranks: they round once.
bool adds_once(const Collective&);

// How a file states in which order a rank adds up what arrives in one step. Its sends are listed so that a
// reader who adds from the left, first what the rank holds (or the copy that replaces it), then the
// arrivals as listed, adds along the combination tree. Where no list does that, a
// sum is stated in brackets.

// What a rank adds up of a chunk in a step: values by the ranks that they come from, its own by its own rank.
// More than two in a pair of brackets are added from the left: "((0 1) 2 3)" is 0 and 1, then 2, then 3.
struct StatedSum {
  Chunk chunk = 0;
  Rank rank = 0;
  std::string order = {};
  bool operator==(const StatedSum&) const = default;
};

struct StatedStep {
  std::vector<Send> sends = {};      // those of the step; of a chunk to one rank in the order of additions
  std::vector<StatedSum> sums = {};  // by chunk and rank; those that the order of `sends` does not state
  bool operator==(const StatedStep&) const = default;
};

// By step. Of a schedule with a chunk or a link out of range: its sends, as they are.
std::vector<StatedStep> stated_steps(const Topology&, const Collective&, const Schedule&);

}  // namespace chorale
