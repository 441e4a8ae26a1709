// Names of methods, and the order of costs. Rates (rounds per chunk) are compared by cross-multiplication,
// exactly: whether a schedule meets a bound of 7/6 must not depend on how doubles round.
#include "ir/frontier.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "ir/agreement.h"

namespace chorale {
namespace {

constexpr Named<Method> kMethods[] = {
    {Method::Direct, "direct"},
    {Method::Dual, "dual"},
    {Method::Composed, "reduce_scatter+allgather"},
    {Method::Gathered, "gather+local_reduce"},
    {Method::Levels, "levels"},
    {Method::Patched, "patched"},
    {Method::RingAllgather, "ring_allgather"},
    {Method::RingReduceScatter, "ring_reducescatter"},
    {Method::RingAllReduce, "ring_allreduce"},
    {Method::MultiRingAllgather, "multi_ring_allgather"},
    {Method::MultiRingReduceScatter, "multi_ring_reducescatter"},
    {Method::MultiRingAllReduce, "multi_ring_allreduce"},
    {Method::TreeBroadcast, "tree_broadcast"},
    {Method::TreeReduce, "tree_reduce"},
    {Method::TreeAllReduce, "tree_allreduce"},
    {Method::TwoTreeAllReduce, "two_tree_allreduce"},
    {Method::BinomialBroadcast, "binomial_broadcast"},
    {Method::BinomialReduce, "binomial_reduce"},
    {Method::BinomialGather, "binomial_gather"},
    {Method::BinomialScatter, "binomial_scatter"},
    {Method::RecursiveDoublingAllgather, "recursive_doubling_allgather"},
    {Method::RecursiveHalvingReduceScatter, "recursive_halving_reducescatter"},
    {Method::RecursiveDoublingAllReduce, "recursive_doubling_allreduce"},
    {Method::HalvingDoublingAllReduce, "halving_doubling_allreduce"},
    {Method::DirectAllgather, "direct_allgather"},
    {Method::DirectReduceScatter, "direct_reducescatter"},
    {Method::DirectAllReduce, "direct_allreduce"},
    {Method::OneShotAllReduce, "one_shot_allreduce"},
    {Method::DirectAlltoall, "direct_alltoall"},
    {Method::MultiRingBroadcast, "multi_ring_broadcast"},
    {Method::MultiRingReduce, "multi_ring_reduce"},
    {Method::PatAllgather, "pat_allgather"},
    {Method::PatReduceScatter, "pat_reducescatter"},
    {Method::PairwiseAlltoall, "pairwise_alltoall"},
    {Method::NvlsAllReduce, "nvls_allreduce"},
    {Method::NvlsTreeAllReduce, "nvls_tree_allreduce"},
    {Method::CollnetDirectAllReduce, "collnet_direct_allreduce"},
    {Method::CollnetChainAllReduce, "collnet_chain_allreduce"},
    {Method::DirectBroadcast, "direct_broadcast"},
    {Method::DirectReduce, "direct_reduce"},
    {Method::BruckAllgather, "bruck_allgather"},
    {Method::BruckAlltoall, "bruck_alltoall"},
    {Method::DisjointTreesBroadcast, "disjoint_trees_broadcast"},
    {Method::DisjointTreesReduce, "disjoint_trees_reduce"},
    {Method::HierarchicalAllgather, "hierarchical_allgather"},
    {Method::HierarchicalReduceScatter, "hierarchical_reducescatter"},
    {Method::HierarchicalAllReduce, "hierarchical_allreduce"},
};

constexpr Named<ResultKind> kResultKinds[] = {{ResultKind::Frontier, "frontier"},
                                              {ResultKind::Synthesis, "synthesis"},
                                              {ResultKind::Algorithm, "algorithm"}};

constexpr Named<Stopped> kEndings[] = {{Stopped::No, ""},
                                       {Stopped::Interrupted, "interrupted"},
                                       {Stopped::TimeLimit, "time limit"},
                                       {Stopped::MemoryLimit, "memory limit"},
                                       {Stopped::ConflictLimit, "conflict limit"},
                                       {Stopped::SizeLimit, "size limit"},
                                       {Stopped::NotExpressible, "not expressible"},
                                       {Stopped::ChunkCounts, "chunk counts"},
                                       {Stopped::Effort, "effort"},
                                       {Stopped::Unchecked, "refutations not checked"}};

}  // namespace

// Both are ints, so their product fits in 64 bits.
int compare_rate(const Cost& a, const Cost& b) {
  const std::int64_t left = static_cast<std::int64_t>(a.rounds) * b.chunks;
  const std::int64_t right = static_cast<std::int64_t>(b.rounds) * a.chunks;
  return left < right ? -1 : left > right ? 1 : 0;
}

bool dominates(const Cost& a, const Cost& b) {
  const int rate = compare_rate(a, b);
  return a.steps <= b.steps && rate <= 0 && (a.steps < b.steps || rate < 0);
}

// A claim of any chunk count is about each of them; `chunks` is then the unit of its rounds.
bool speaks_of(const Claim& claim, CollectiveKind collective, int chunks) {
  return claim.collective == collective && (claim.any_chunks || claim.chunks == chunks);
}

// A rate for any chunk count, scaled to a number of chunks and rounded up: rounds are integers. 7 rounds per
// 6 chunks are 12 rounds of 10 chunks (11.67). What does not fit stays below kNoSchedule, which has a meaning
// of its own.
int rounds_claimed(const Claim& claim, int chunks) {
  if (!claim.any_chunks || claim.rounds == kNoSchedule) return claim.rounds;
  const std::int64_t rounds = (std::int64_t{claim.rounds} * chunks + claim.chunks - 1) / claim.chunks;
  return static_cast<int>(std::min<std::int64_t>(rounds, kNoSchedule - 1));
}

// No schedule at all is more than any number of rounds, and equal to itself.
bool less(const Rate& a, const Rate& b) {
  if (a.rounds == kNoSchedule || b.rounds == kNoSchedule)
    return a.rounds != kNoSchedule && b.rounds == kNoSchedule;
  // Both numbers of a rate go to 1e15 in files.
  __extension__ typedef __int128 Wide;
  return Wide{a.rounds} * b.chunks < Wide{b.rounds} * a.chunks;
}

// Infinite where nothing is known but that something has to be sent: a bound of 0 rounds.
double gap(const Point& point) {
  const double own = static_cast<double>(point.cost.rounds) / point.cost.chunks;
  const double bound = static_cast<double>(point.bound.rounds) / static_cast<double>(point.bound.chunks);
  if (own <= bound) return 0;
  return bound > 0 ? own / bound - 1 : std::numeric_limits<double>::infinity();
}

// The k of k-synchronous schedules bounds rounds by steps; max_rounds bounds them in any case.
int most_rounds(const Space& space, int steps) {
  // A sum that fits no int is more than max_rounds.
  if (space.extra_rounds == kAnyRounds || steps > kAnyRounds - space.extra_rounds) return space.max_rounds;
  return std::min(space.max_rounds, steps + space.extra_rounds);
}

// The strongest claim about any number of steps and of chunks. Claims about the phases of a composition name
// another collective, and bound only compositions.
Rate rate_bound(const Result& result) {
  Rate best;
  for (const Claim& claim : result.claims) {
    if (!claim.any_chunks || claim.collective != result.collective.kind || claim.steps != kAnySteps) continue;
    if (const Rate rate{.rounds = claim.rounds, .chunks = claim.chunks}; less(best, rate)) best = rate;
  }
  return best;
}

// A composed AllReduce has ranks x chunks chunks: chunk c of its ReduceScatter is owned by rank c / chunks,
// and is chunk c of its Allgather. Chunks of an Alltoall are numbered as those of AllReduceInPhases.
std::array<Phase, 2> phases(const Point& point) {
  const int chunks = point.cost.chunks / point.collective.ranks;
  const auto border = point.schedule.steps.begin() + point.reduce_scatter_steps;
  const bool of_copies = point.collective.kind == CollectiveKind::AllReduceInPhases;
  const CollectiveKind first = of_copies ? CollectiveKind::Alltoall : CollectiveKind::ReduceScatter;
  std::array<Phase, 2> both = {
      {{of_kind(point.collective, first, chunks), {.steps = {point.schedule.steps.begin(), border}}},
       {of_kind(point.collective, CollectiveKind::Allgather, chunks),
        {.steps = {border, point.schedule.steps.end()}}}}};
  // Sums of copies are chunks of their own, after these.
  const int copies = static_cast<int>(both[0].collective.chunks.size());
  if (of_copies)
    for (Step& step : both[1].schedule.steps)
      for (Send& send : step.sends) send.chunk -= copies;
  return both;
}

std::vector<CollectiveKind> first_phases(const Collective& allreduce) {
  if (adds_once(allreduce)) return {CollectiveKind::Alltoall};
  if (allreduce.order.kind != SumOrder::Kind::Fixed) return {CollectiveKind::ReduceScatter};
  return {CollectiveKind::ReduceScatter, CollectiveKind::Alltoall};
}

CollectiveKind kind_of_both(CollectiveKind first) {
  return first == CollectiveKind::Alltoall ? CollectiveKind::AllReduceInPhases : CollectiveKind::AllReduce;
}

std::span<const Named<Certificate::Kind>> certificate_kinds() {
  using Kind = Certificate::Kind;
  static constexpr Named<Kind> kKinds[] = {
      {Kind::None, "none"},           {Kind::Distance, "distance"}, {Kind::Weights, "weights"},
      {Kind::Partition, "partition"}, {Kind::Trees, "trees"},       {Kind::Cuts, "cuts"},
      {Kind::Growth, "growth"},       {Kind::Entries, "entries"},   {Kind::Refutation, "refutation"}};
  return kKinds;
}

std::span<const Named<Method>> methods() {
  return kMethods;
}

std::span<const Named<ResultKind>> result_kinds() {
  return kResultKinds;
}

std::span<const Named<Stopped>> endings() {
  return kEndings;
}

std::string name_of(Method method) {
  return name_in(methods(), method);
}

// Names are shown in tables and pages, and read back from files: letters, digits and the few signs of "sat +
// tree_growth (gpu, node)".
std::string construction_name(std::string name) {
  constexpr std::size_t kLongest = 400;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) &&
        std::string_view("_-+:,. ()").find(c) == std::string_view::npos)
      c = '_';
  name.resize(std::min(name.size(), kLongest));
  return name;
}

// "direct (tree_growth)" would repeat that a direct point was constructed; there the construction stands
// alone.
std::string origin(const Point& point) {
  const std::string method = name_of(point.method);
  if (point.construction.empty() || point.construction == method) return method;
  const bool said = point.method == Method::Direct || point.method == Method::Dual ||
                    point.method == Method::Composed;  // whose two phases are named
  return said ? point.construction : method + " (" + point.construction + ")";
}

std::string name_of(ResultKind kind) {
  return name_in(result_kinds(), kind);
}

std::string name_of(Stopped stopped) {
  return name_in(endings(), stopped);
}

}  // namespace chorale
