// What claims imply about points: pure arithmetic on costs, by which the search marks what it found. `chorale
// check` redoes it by arithmetic of its own (space_check.cpp).
//
// The searched space of a result (ir/frontier.h, docs/formats.md): all schedules of the collective with
// min_chunks..max_chunks chunks per block, within its steps and rounds; for the frontier of AllReduce three
// families, of which the best counts, point by point (results of other kinds have the first only):
//   direct                       one accumulator per (chunk, rank), C chunks a vector
//   reduce_scatter+allgather     a ReduceScatter of c chunks a block, then an Allgather; the vector has N*c
//                                chunks
//   gather+local_reduce          an Allgather of everybody's whole vector in c chunks; sums are local
//
// Of spaces without a most chunk count (kAnyChunks) only claims about any chunk count have consequences: a
// schedule of C chunks is one of kC chunks, so what is possible for one count implies little, and what is
// impossible implies nothing for others. Then compositions are among the direct schedules, which may have any
// chunk count.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/frontier.h"

namespace chorale {

// Returns the fewest rounds that the claims leave possible, in the space, for at most `steps` steps of
// `collective` with `chunks` chunks; kNoSchedule if none is possible.
int rounds_left(const Result&, CollectiveKind, int chunks, int steps);

// The fewest rounds per chunk that the claims leave possible, with at most `steps` steps, to what the point
// is marked against: the whole searched space, or, if the point is dominated, its family with its chunks.
Rate least_rate(const Result&, const Point&, int steps);

// Is the claim stronger than those of the result? One about any chunk count is compared with others of these
// only.
bool excludes_more(const std::vector<Claim>& known, const Claim&);

// Does the point's cost lie in the searched space?
bool lies_within(const Result&, const Point&);

// Derives from points and claims: sorts the points, those on the frontier first, by steps, then the others
// by chunks and steps; sets on_frontier, proven and bound of each; lists the openings; and states whether
// the result is complete, and up to which chunk count. Schedules are not read. Returns [point] -> its index
// before.
std::vector<std::size_t> mark(Result&);

// Why a point is proven: which claims it rests on. Computed from the claims when it is shown; not stored in
// files.

// For a proven point: claims by which as few steps take no fewer rounds per chunk, and claims by which fewer
// steps take more. Each of the two is enough for its part, and is not without any one of its claims; nor are
// both together for the whole. Where there is a choice, the first claims of the result: bounds come before
// refutations.
struct Reasons {
  std::vector<const Claim*> rounds = {};
  std::vector<const Claim*> steps = {};
};
Reasons reasons(const Result&, const Point&);  // none if it is not proven; valid as long as the result

// Returns the same in words for people; empty if it is not proven.
std::string explain(const Result&, const Point&);

}  // namespace chorale
