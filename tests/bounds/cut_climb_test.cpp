// The search over sets of ranks against all of them.
#include "bounds/cut_climb.h"

#include <gtest/gtest.h>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "ir/group_collective.h"
#include "tests/bounds/machines.h"
#include "tests/bounds/paid.h"
#include "tests/kit/random.h"

namespace chorale {
namespace {

using Set = unsigned;  // of ranks, as bits

bool inside(Set set, Rank n) {
  return (set >> n & 1) != 0;
}

// Chunks that start outside, or sums that some rank outside contributes to, and that are wanted inside.
double entering(const std::vector<ChunkClass>& classes, Set set, bool sums) {
  double sum = 0;
  for (const ChunkClass& each : classes) {
    const auto in = [set](Rank n) { return inside(set, n); };
    const bool outside = sums ? !std::ranges::all_of(each.pre, in) : std::ranges::none_of(each.pre, in);
    if (outside && std::ranges::any_of(each.post, in)) sum += static_cast<double>(each.count());
  }
  return sum;
}

double least_paid(const Topology& t, Set set) {
  return test::least_paid(t,
                          [&](const Link& link) { return !inside(set, link.src) && inside(set, link.dst); });
}

// Of the first 2,000 of these the search misses three, of the first 300 none.
TEST(SetCuts, AreAsGoodAsTheBestOfAll) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = test::random_machine(random, {.least_ranks = 5,
                                                     .most_ranks = 8,
                                                     .joined = test::Machines::Joined::Ring,
                                                     .parallel = false,
                                                     .widest = 4,
                                                     .most_limits = seed % 3 == 0 ? 4 : 0,
                                                     .ports = seed % 6 == 0});
    Collective collective = test::random_collective(
        random, t.ranks,
        {.names = {}, .most_chunks = 4, .relation = test::Communications::Relation::OneSource, .alike = 3});
    const bool sums = collective.combining;
    const std::vector<ChunkClass> classes = sums ? chunk_classes(collective) : wanted_classes(collective);
    if (classes.empty()) continue;
    double best = 0;
    for (Set set = 1; set + 1 < Set{1} << t.ranks; ++set)
      if (const double chunks = entering(classes, set, sums); chunks > 0)
        best = std::max(best, chunks / least_paid(t, set));
    const std::optional<PriceBound> found =
        sums ? widest_summed_cut(t, classes) : widest_wanted_cut(t, classes);
    ASSERT_EQ(found.has_value(), best > 0);
    if (!found) continue;
    EXPECT_NEAR(static_cast<double>(found->owed) / static_cast<double>(found->per_round), best, best * 1e-6);
    EXPECT_FALSE(fault(t, collective,
                       {.rounds = rounds_shown(*found),
                        .certificate = {.kind = Certificate::Kind::Weights, .prices = found->prices}}));
  }
}

// All 56 chunks of the rows enter the first column, over its 8 links; each of its ranks alone needs 7 over 3
// links, or over 2 at the corners.
TEST(SetCuts, RowsOfAMesh) {
  const Topology mesh = grid(8, 8, false);
  std::vector<std::vector<Rank>> rows(8);
  for (Rank n = 0; n < 64; ++n) rows[n / 8].push_back(n);
  for (const CollectiveKind kind : {CollectiveKind::Allgather, CollectiveKind::ReduceScatter}) {
    const Collective asked = make_collective({.kind = kind, .groups = rows}, 64);
    EXPECT_EQ(rate_shown(mesh, asked, fewest_rounds(mesh, asked).certificate), (Rate{7, 1}));
  }
}

// Two racks of 100 ranks, a slow rail between each rank and its twin: what all of one rack must send to three
// ranks of the other takes a hundred rails. Single ranks, each with links to all of its rack, take
// all the work that there is.
TEST(SetCuts, RacksOfManyRanks) {
  constexpr int kRack = 100;
  Topology racks{.name = "racks", .ranks = 2 * kRack};
  for (Rank n = 0; n < racks.ranks; ++n)
    for (Rank m = 0; m < racks.ranks; ++m)
      if (const bool same = n / kRack == m / kRack; n != m && (same || n % kRack == m % kRack))
        racks.links.push_back({.src = n, .dst = m, .bandwidth = same ? 18 : 1});
  Collective asked{.kind = CollectiveKind::Custom, .custom_name = "out", .ranks = racks.ranks};
  for (int c = 0; c < 4 * kRack; ++c)
    asked.chunks.push_back({.pre = {c % kRack},
                            .post = {kRack + c % 7, kRack + 20 + c % 11, kRack + 40 + c % 13},
                            .input = c / kRack,
                            .output = c});
  const std::optional<PriceBound> found = widest_wanted_cut(racks, wanted_classes(asked));
  ASSERT_TRUE(found);
  EXPECT_GE(static_cast<double>(found->owed) / static_cast<double>(found->per_round), 4 - 1e-6);
}

TEST(SetCuts, AStopFlagLeavesWhatWasFound) {
  std::atomic<bool> stop = true;
  const Collective allgather = make_collective("allgather", 4, 1);
  EXPECT_FALSE(widest_wanted_cut(ring(4), wanted_classes(allgather), &stop));
}

}  // namespace
}  // namespace chorale
