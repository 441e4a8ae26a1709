#include "tests/property/makers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "construct/composition.h"
#include "construct/engine.h"
#include "construct/engine/solved_question.h"
#include "construct/engine/timed_packing.h"
#include "construct/exact/tree_growth.h"
#include "construct/fixed_order.h"
#include "construct/incumbents.h"
#include "construct/retiming.h"
#include "topology/levels.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale::test {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

Series of(const Collective& c, const std::vector<Schedule>& schedules) {
  Series series;
  for (const Schedule& schedule : schedules) series.made.push_back({c, schedule});
  return series;
}

Series of(const std::vector<Point>& points, const Series& described = {}) {
  Series series = described;
  for (const Point& point : points) {
    series.made.push_back({point.collective, point.schedule});
    EXPECT_EQ(point.cost, series.made.back().cost());
    EXPECT_THAT(point.construction, Not(IsEmpty()));
  }
  return series;
}

// ---- Makers of schedules.

Makes in_time(const Question& q) {
  return {of(q.collective, timed_packing(q.topology, q.collective, {},
                                         [&] { return fewest_rounds(q.topology, q.collective).rounds; }))};
}

Makes grown(const Question& q) {
  return {of(q.collective, grow_trees(q.topology, q.collective))};
}

// Along the tree that suits the machine.
Collective ordered(const Question& q) {
  Collective c = q.collective;
  c.order = {.kind = SumOrder::Kind::Fixed, .tree = suitable_tree(q.topology, c)};
  return c;
}

Makes incumbents_in_order(const Question& q) {
  return {of(incumbents(q.topology, ordered(q)))};
}

Makes in_order(const Question& q) {
  const Collective asked = ordered(q);
  WorkBudget effort(LLONG_MAX, nullptr);
  return {of(asked, sums_in_order(q.topology, asked, effort))};
}

// With a smaller k there is as much as with a larger one, or less, but something; and who is out of time has
// something.
Makes all_incumbents(const Question& q) {
  Makes all = {of(incumbents(q.topology, q.collective))};
  for (const int extra : {0, 2})
    all.push_back(of(incumbents(q.topology, q.collective, nullptr, extra), {.extra = extra, .within = 0}));
  for (const int extra : {0, 2, kAnyRounds})
    all.push_back(
        of(quick_incumbents(q.topology, q.collective, extra), {.extra = extra, .undominated = false}));
  for (const Series& series : all)
    for (const Made& made : series.made) EXPECT_EQ(made.collective, q.collective);
  return all;
}

std::vector<Point> constructed(const EngineQuestion& question) {
  std::vector<Point> points;
  construct(question, [&](Point point) { points.push_back(std::move(point)); });
  return points;
}

// In some cases also with less work, and with fewer chunks.
Makes by_engine(const Question& q) {
  EngineQuestion asked{
      .topology = q.topology,
      .one = q.collective,
      .bound = rate_shown(q.topology, q.collective, fewest_rounds(q.topology, q.collective).certificate),
      .work = 24'000'000};
  Makes all = {of(constructed(asked), {.undominated = false})};
  if (q.seed % 5 > 1) return all;
  asked.work = 6'000'000;
  for (const int most : {1, 3, 7}) {
    asked.max_chunks = most;
    all.push_back(of(constructed(asked), {.undominated = false, .within = 0}));
    for (const Made& made : all.back().made) EXPECT_LE(made.collective.chunks_per_block, most);
  }
  asked.max_chunks = 0;
  asked.work = 4'000'000;
  all.push_back(of(constructed(asked), {.undominated = false, .within = 0, .begins = true}));
  return all;
}

Makes composed(const Question& q) {
  std::vector<Point> points;
  for (ComposedPoint& composed : compose_on({.topology = q.topology, .collective = q.collective}, q.nestings))
    points.push_back(std::move(composed.point));
  return {of(points)};
}

// A machine of parallel links may have a mirror that is not looked for.
Makes allgather_mirrored(const Question& q) {
  const std::optional<std::vector<LinkId>> mirror = mirror_of(q.topology);
  if (!mirror) return {};
  Series all{.undominated = false};
  for (const Point& point : constructed({.topology = q.topology,
                            .one = make_collective("allgather", q.topology.ranks, 1),
                            .work = 4'000'000})) {
    const Point turned = mirrored(point, with_chunks(q.collective, point.cost.chunks), *mirror);
    EXPECT_EQ(turned.cost, point.cost);
    all.made.push_back({turned.collective, turned.schedule});
    EXPECT_EQ(all.made.back().cost(), point.cost);
  }
  return {all};
}

// The sends of a schedule in other steps, of at most so many rounds, do what they did; there are just as
// many.
Makes retimed(const Question& q) {
  Makes all;
  for (const Point& point : incumbents(q.topology, q.collective)) {
    WorkBudget effort(1'000'000, nullptr);
    all.push_back(of(q.collective, retimings(q.topology, point.schedule, effort)));
    all.back().undominated = false;
    EXPECT_THAT(all.back().made, Not(IsEmpty()));
    for (const Made& made : all.back().made)
      EXPECT_EQ(total_sends(made.schedule), total_sends(point.schedule));
  }
  return all;
}

// ---- Makers of machines and communications, beside those of tests/kit/random.h.

// Each link of a random machine once more, in the other direction; and each limit.
Question both_ways(std::mt19937& random, const Maker&, unsigned) {
  Topology t = random_machine(random);
  const auto links = static_cast<int>(t.links.size());
  for (LinkId l = 0; l < links; ++l) {
    Link back = t.links[l];
    std::swap(back.src, back.dst);
    t.links.push_back(back);
  }
  for (std::size_t i = 0, limits = t.limits.size(); i < limits; ++i) {
    SharedLimit back = t.limits[i];
    for (LinkId& l : back.links) l += links;
    t.limits.push_back(back);
  }
  return {.topology = t, .collective = make_collective("reducescatter", t.ranks, 1)};
}

// Two or three levels of two or three each: switches and rings, ports and ways out of any width, rails.
Hierarchy random_levels(std::mt19937& random) {
  Hierarchy h{.name = "random"};
  for (int levels = between(random, 2, 3); levels > 0; --levels) {
    Level level{.name = "level" + std::to_string(levels), .fan_out = between(random, 2, 3)};
    level.link.bandwidth_gbs = between(random, 1, 6);
    level.link.latency_us = 1;
    if (between(random, 0, 2) == 0) level.link.shape = LinkModel::Shape::Ring;
    if (level.link.shape == LinkModel::Shape::Switch && between(random, 0, 1) == 0 && levels > 1)
      level.link.rails = true;
    if (between(random, 0, 1) == 0)
      level.link.exit = SharedPath{.bandwidth_gbs = static_cast<double>(between(random, 1, 6)),
                                   .children = between(random, 0, 1) == 0 ? 1 : level.fan_out};
    h.levels.push_back(level);
  }
  return h;
}

Question levels(std::mt19937& random, const Maker&, unsigned) {
  const Hierarchy h = random_levels(random);
  Nesting nesting;
  for (const Level& level : h.levels) {
    nesting.names.push_back(level.name);
    nesting.fan_outs.push_back(level.fan_out);
  }
  const Topology t = graph_of(h);
  const std::vector<std::string> names = collective_names();
  return {.topology = t,
          .collective = make_collective(names[below(random, static_cast<int>(names.size()))], t.ranks,
                                        between(random, 1, 4), below(random, t.ranks)),
          .nestings = {nesting}};
}

constexpr unsigned kNamedLevels = 15;  // questions

// Rows and columns of machines without levels are levels for this; of others their divisions are found in the
// graph. Each machine and collective once.
Question named_levels(std::mt19937&, const Maker&, unsigned seed) {
  const std::pair<const char*, std::vector<int>> known[] = {
      {"hypercube:3", {2, 4}}, {"torus:4x4", {4, 4}}, {"hypercube:4", {2, 2, 4}}, {"mesh:2x4", {2, 4}}};
  const char* const with_levels[] = {"dgx2:2", "dgx1:2", "dgx-a100:3"};
  const char* const collectives[] = {"allgather", "allreduce", "alltoall"};
  if (const unsigned number = seed % kNamedLevels; number < std::size(with_levels)) {
    Question q{.topology = flatten(load_topology(with_levels[number]))};
    q.collective = make_collective("allgather", q.topology.ranks, 1);
    q.nestings = nestings(q.topology);
    return q;
  }
  const unsigned number = seed % kNamedLevels - static_cast<unsigned>(std::size(with_levels));
  const auto& [name, fan_outs] = known[number / std::size(collectives)];
  Question q{.topology = flatten(load_topology(name))};
  q.collective = make_collective(collectives[number % std::size(collectives)], q.topology.ranks, 2);
  q.nestings = {{.names = {"a", "b", "c"}, .fan_outs = fan_outs}};
  q.nestings.front().names.resize(fan_outs.size());
  return q;
}

// No rank hears of 0 and 1 and reaches 2 and 3: directly; over relays, of which 4 is on the way to both
// and must forget the first sum; and with a contributor 5 that only has a path through 0. Or rank 2
// hears of all from 3 alone, which then has the sum as well and must not be sent it.
Question sums_that_part(std::mt19937& random, const Maker&, unsigned) {
  using Pairs = std::vector<std::pair<Rank, Rank>>;
  const struct {
    int ranks;
    Pairs links;
    ChunkSpec sum;
  } known[] = {
      {4, {{0, 2}, {0, 3}, {1, 2}, {1, 3}}, {.pre = {0, 1}, .post = {2, 3}}},
      {5, {{0, 4}, {4, 2}, {4, 3}, {1, 2}, {1, 3}}, {.pre = {0, 1}, .post = {2, 3}}},
      {6, {{0, 4}, {4, 2}, {4, 3}, {1, 2}, {1, 3}, {5, 0}}, {.pre = {0, 1, 5}, .post = {2, 3}}},
      {5, {{0, 3}, {1, 3}, {3, 2}, {2, 3}, {2, 4}}, {.pre = {0, 1}, .post = {2, 3, 4}}},
  };
  const auto& [ranks, links, sum] = known[below(random, std::size(known))];
  Question q{.topology = {.name = "links", .ranks = ranks},
             .collective = {.custom_name = "sum", .ranks = ranks, .combining = true, .chunks = {sum}}};
  for (const auto& [a, b] : links) q.topology.links.push_back({.src = a, .dst = b});
  return q;
}

}  // namespace

Question any(std::mt19937& random, const Maker& row, unsigned) {
  Question q{.topology = random_machine(random, row.machines)};
  q.collective = random_collective(random, q.topology.ranks, row.communications);
  return q;
}

namespace {

const std::vector<std::string> kSums = {"allreduce", "reducescatter", "reduce"};

const Maker kMakers[] = {
    {.maker = "packing in time, of copies and sums",
     .make = in_time,
     .machines = {.most_ranks = 6, .most_limits = 2},
     .communications = {.names = {"allreduce", "allgather", "broadcast"},
                        .custom = false,
                        .most_per_block = 5},
     .cases = 60,
     .met = 30},
    {.maker = "packing in time, of copies",
     .make = in_time,
     .communications = {.names = {"allgather", "broadcast"}, .custom = false, .most_per_block = 6},
     .cases = 30,
     .met = 30},
    // An alltoallv, and more. With no time to lose the bound cannot always be met: a chunk that goes two hops
    // leaves the second link idle at first.
    {.maker = "packing in time, of paths",
     .make = in_time,
     .communications = {.names = {"alltoall", "scatter", "gather"},
                        .combining = false,
                        .most_per_block = 3,
                        .most_chunks = 20,
                        .relation = Communications::Relation::OneDestination},
     .cases = 100,
     .met = 75},
    // Once found by random input: a rank that contributes nothing was to pass on what then came to
    // the root over others.
    {.maker = "packing in time, of sums of some at some",
     .make = in_time,
     .communications = {.names = {}, .combining = true, .most_chunks = 2, .alike = 4},
     .cases = 100,
     .made = 90,
     .met = 20},
    {.maker = "growth on direct links",
     .make = grown,
     .machines = {.most_ranks = 9, .most_limits = 0},
     .communications = {.names = {"allgather"}, .custom = false, .most_per_block = 3},
     .cases = 150,
     .made = 70,
     .met = 100},
    {.maker = "growth with ports",
     .make = grown,
     .machines = {.most_ranks = 6, .most_limits = 0, .ports = true},
     .communications = {.names = {"allgather"}, .custom = false, .most_per_block = 3},
     .cases = 60,
     .made = 40,
     .met = 100},
    {.maker = "sums in order",
     .make = in_order,
     .machines = {.most_ranks = 8},
     .communications = {.names = kSums, .custom = false, .most_per_block = 3},
     .cases = 30,
     .made = 66,
     .met = 1},
    {.maker = "incumbents in order",
     .make = incumbents_in_order,
     .machines = {.most_ranks = 8},
     .communications = {.names = kSums, .custom = false, .most_per_block = 3},
     .cases = 15,
     .made = 66,
     .met = 1},
    // Many have a choice between few steps and few rounds.
    {.maker = "incumbents",
     .make = all_incumbents,
     .machines = {.most_ranks = 9, .most_failed = 2},
     .communications = {.unwanted = true},
     .cases = 600,
     .points = 133,
     .wherever_possible = true,
     .few_steps = 5},
    // Here some pairs have no path, or one in one direction only.
    {.maker = "incumbents where some are not reached",
     .make = all_incumbents,
     .machines = {.most_ranks = 8, .joined = Machines::Joined::Nothing, .least_links = 6, .most_failed = 2},
     .communications = {.unwanted = true},
     .cases = 1500,
     .made = 20,
     .most_made = 80,
     .wherever_possible = true,
     .few_steps = 5},
    {.maker = "incumbents of sums that part",
     .make = all_incumbents,
     .cases = 24,
     .made = 0,
     .wherever_possible = true,
     .ask = sums_that_part},
    // Bounds are not all tight (sums at several ranks, groups), so not all are met.
    {.maker = "the engine",
     .make = by_engine,
     .communications = {.most_per_block = 1, .relation = Communications::Relation::OneSource},
     .cases = 30,
     .met = 75,
     .near = 1.05,
     .any_chunks = true},
    // Switches join all children, rings with more hops.
    {.maker = "compositions", .make = composed, .cases = 180, .few_steps = 5, .ask = levels},
    {.maker = "compositions of named machines",
     .make = composed,
     .cases = kNamedLevels,
     .few_steps = 5,
     .ask = named_levels},
    {.maker = "an Allgather backwards",
     .make = allgather_mirrored,
     .cases = 30,
     .made = 16,
     .any_chunks = true,
     .ask = both_ways},
    {.maker = "other steps",
     .make = retimed,
     .machines = {.most_ranks = 6},
     .communications = {},
     .cases = 60},
};

}  // namespace

std::span<const Maker> makers() {
  return kMakers;
}

}  // namespace chorale::test
