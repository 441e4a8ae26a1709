// Recursive doubling, halving (its reverse) and direct exchanges, by places in an order: in step k places whose numbers
// differ in bit k meet.
//
// By doubling, each rank has what the 2^k places of its block have, and gets what the 2^k of the neighbouring
// block have: after log2(n) steps all, and nothing twice. An AllReduce may double whole sums, or halve and
// double (backwards and forwards, construct/classic.cpp): log2(n) steps with log2(n) times the vector, or 2
// log2(n) steps with 2(n-1)/n times the vector.
//
// Two that exchange and add in one step both end with the sum of both, since sends read what was there before
// the step.
#include "construct/exchanges.h"

#include <functional>

namespace chorale {
namespace {

// In one step from each rank to each other its block for it.
Plan direct(int ranks, int chunks, const std::function<int(Rank from, Rank to)>& block, bool reduce = false) {
  Plan plan;
  for (Rank n = 0; n < ranks; ++n)
    for (Rank m = 0; m < ranks; ++m)
      for (int i = 0; n != m && i < chunks; ++i)
        add(plan, 0, {.chunk = block(n, m) * chunks + i, .src = n, .dst = m, .reduce = reduce});
  return plan;
}

}  // namespace

Plan doubling_allgather(const std::vector<Rank>& order, int chunks) {
  Plan plan;
  const int ranks = static_cast<int>(order.size());
  for (int k = 0; 1 << k < ranks; ++k)
    for (int i = 0; i < ranks; ++i)
      for (int j = i >> k << k; j < (i >> k << k) + (1 << k); ++j)  // the places that i has heard of
        for (int piece = 0; piece < chunks; ++piece)
          add(plan, k, {.chunk = order[j] * chunks + piece, .src = order[i], .dst = order[i ^ 1 << k]});
  return plan;
}

Plan doubling_allreduce(const std::vector<Rank>& order, int chunks) {
  Plan plan;
  const int ranks = static_cast<int>(order.size());
  for (int k = 0; 1 << k < ranks; ++k)
    for (int i = 0; i < ranks; ++i)
      for (Chunk c = 0; c < chunks; ++c)
        add(plan, k, {.chunk = c, .src = order[i], .dst = order[i ^ 1 << k], .reduce = true});
  return plan;
}

Plan direct_allgather(int ranks, int chunks) {
  return direct(ranks, chunks, [](Rank from, Rank) { return from; });
}

Plan direct_alltoall(int ranks, int chunks) {
  return direct(ranks, chunks, [=](Rank from, Rank to) { return from * ranks + to; });
}

// Everyone sends its own contribution and nothing else: what arrives in the step is not read in it.
Plan one_shot_allreduce(int ranks, int chunks) {
  return direct(
      ranks, chunks, [](Rank, Rank) { return 0; }, true);
}

}  // namespace chorale
