// What claims say about points: pure arithmetic on costs, used by the search to mark points and by the check
// to redo it.
//
// The searched space of a result (docs/formats.md): all schedules of the collective with
// min_chunks..max_chunks chunks a block; for AllReduce three families, of which the best counts, point by
// point:
//   direct                       one accumulator per (chunk, rank), C chunks a vector
//   reduce_scatter+allgather     a ReduceScatter of c chunks a block, then an Allgather; the vector has N*c
//   chunks gather+local_reduce          an Allgather of everybody's whole vector in c chunks; sums are local
#pragma once

#include <string>

#include "ir/frontier.h"

namespace chorale {

// The fewest rounds that the claims leave possible for at most `steps` steps of `collective` with `chunks`
// chunks; kNoSchedule if none is possible.
int rounds_left(const Result&, const std::string& collective, int chunks, int steps);

// Do the claims show that nothing in the searched space dominates the point? A point with on_frontier false
// is only held against its own family and chunk count.
bool is_proven(const Result&, const Point&);

// Sorts the points by chunks and steps and sets on_frontier and proven of each.
void mark(Result&);

}  // namespace chorale
