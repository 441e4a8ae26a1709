#include "ir/frontier.h"

#include <algorithm>
#include <limits>

namespace chorale {

int compare_rate(const Cost& a, const Cost& b) {
  const std::int64_t left = static_cast<std::int64_t>(a.rounds) * b.chunks;
  const std::int64_t right = static_cast<std::int64_t>(b.rounds) * a.chunks;
  return left < right ? -1 : left > right ? 1 : 0;
}

bool dominates(const Cost& a, const Cost& b) {
  const int rate = compare_rate(a, b);
  return a.steps <= b.steps && rate <= 0 && (a.steps < b.steps || rate < 0);
}

bool less(const Rate& a, const Rate& b) {
  if (a.rounds == kNoSchedule || b.rounds == kNoSchedule) return a.rounds < b.rounds;
  __extension__ typedef __int128 Wide;
  return Wide{a.rounds} * b.chunks < Wide{b.rounds} * a.chunks;
}

const std::vector<std::string>& method_names() {
  static const std::vector<std::string> names = {"direct",
                                                 "dual",
                                                 "reduce_scatter+allgather",
                                                 "gather+local_reduce",
                                                 "routed",
                                                 "ring_allgather",
                                                 "ring_reducescatter",
                                                 "ring_allreduce",
                                                 "multi_ring_allgather",
                                                 "multi_ring_reducescatter",
                                                 "multi_ring_allreduce",
                                                 "tree_broadcast",
                                                 "tree_reduce",
                                                 "tree_allreduce",
                                                 "two_tree_allreduce",
                                                 "binomial_broadcast",
                                                 "binomial_reduce",
                                                 "binomial_gather",
                                                 "binomial_scatter",
                                                 "recursive_doubling_allgather",
                                                 "recursive_halving_reducescatter",
                                                 "recursive_doubling_allreduce",
                                                 "halving_doubling_allreduce",
                                                 "direct_allgather",
                                                 "direct_reducescatter",
                                                 "direct_allreduce",
                                                 "one_shot_allreduce",
                                                 "direct_alltoall"};
  return names;
}

double gap(const Point& point) {
  const double own = static_cast<double>(point.cost.rounds) / point.cost.chunks;
  const double bound = static_cast<double>(point.bound.rounds) / static_cast<double>(point.bound.chunks);
  if (own <= bound) return 0;
  return bound > 0 ? own / bound - 1 : std::numeric_limits<double>::infinity();
}

int most_rounds(const Space& space, int steps) {
  if (space.extra_rounds == kAnyRounds || steps > kAnyRounds - space.extra_rounds) return space.max_rounds;
  return std::min(space.max_rounds, steps + space.extra_rounds);
}

std::string name_of(ResultKind kind) {
  switch (kind) {
    case ResultKind::Synthesis:
      return "synthesis";
    case ResultKind::Algorithm:
      return "algorithm";
    case ResultKind::Frontier:
      break;
  }
  return "frontier";
}

std::string name_of(Stopped stopped) {
  switch (stopped) {
    case Stopped::TimeLimit:
      return "time limit";
    case Stopped::ConflictLimit:
      return "conflict limit";
    case Stopped::MemoryLimit:
      return "memory limit";
    case Stopped::SizeLimit:
      return "size limit";
    case Stopped::NotExpressible:
      return "not expressible";
    case Stopped::Interrupted:
      return "interrupted";
    case Stopped::No:
      break;
  }
  return "";
}

}  // namespace chorale
