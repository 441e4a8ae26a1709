// Recursive doubling, halving (its reverse) and direct exchanges, by places in an order: in step k places whose numbers
// differ in bit k meet.
#include "construct/exchanges.h"

namespace chorale {

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
  Plan plan;
  for (Rank n = 0; n < ranks; ++n)
    for (Rank m = 0; m < ranks; ++m)
      for (int i = 0; n != m && i < chunks; ++i) add(plan, 0, {.chunk = n * chunks + i, .src = n, .dst = m});
  return plan;
}

Plan direct_alltoall(int ranks, int chunks) {
  Plan plan;
  for (Rank n = 0; n < ranks; ++n)
    for (Rank m = 0; m < ranks; ++m)
      for (int i = 0; n != m && i < chunks; ++i)
        add(plan, 0, {.chunk = (n * ranks + m) * chunks + i, .src = n, .dst = m});
  return plan;
}

Plan one_shot_allreduce(int ranks, int chunks) {
  Plan plan;
  for (Rank n = 0; n < ranks; ++n)
    for (Rank m = 0; m < ranks; ++m)
      for (Chunk c = 0; n != m && c < chunks; ++c)
        add(plan, 0, {.chunk = c, .src = n, .dst = m, .reduce = true});
  return plan;
}

}  // namespace chorale
