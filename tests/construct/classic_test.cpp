// Every baseline through the verifier, and its cost where it is known from its paper.
#include "construct/baselines/classic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>

#include "semantics/verify.h"
#include "tests/kit/refusal.h"
#include "tests/semantics/machines.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool needs_power_of_two(const std::string& name) {
  return name.find("doubling") != std::string::npos || name.find("halving") != std::string::npos ||
         name.starts_with("disjoint_trees");
}

// Classic.SwitchesAddAndCopy, Classic.HierarchiesAreDirectOnTwoLevels
bool needs_nodes(const std::string& name) {
  return name.starts_with("nvls") || name.starts_with("collnet") || name.starts_with("hierarchical");
}

std::string error_of(const std::string& name, const Topology& topology, const ClassicOptions& options = {}) {
  return test::refusal_of([&] { classic_algorithm(name, topology, options); }, "no error");
}

// SCCL's dgx1: ring 0-1-4-5-6-7-2-3 with two NVLinks an edge, ring 0-2-1-3-6-4-7-5 with one.
Topology dgx1() {
  Topology t{.name = "dgx1", .ranks = 8};
  const auto add_ring = [&t](const std::vector<Rank>& order, int bandwidth) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Rank a = order[i], b = order[(i + 1) % order.size()];
      t.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth});
      t.links.push_back({.src = b, .dst = a, .bandwidth = bandwidth});
    }
  };
  add_ring({0, 1, 4, 5, 6, 7, 2, 3}, 2);
  add_ring({0, 2, 1, 3, 6, 4, 7, 5}, 1);
  return t;
}

TEST(Classic, EveryAlgorithmDoesWhatItSays) {
  for (const ClassicEntry& entry : classic_catalogue())
    for (int ranks = 1; ranks <= 16; ++ranks)
      for (const Topology& topology : {test::full(ranks), test::hub(ranks)}) {
        if (needs_power_of_two(name_of(entry.method)) && !std::has_single_bit(static_cast<unsigned>(ranks))) {
          EXPECT_THAT(error_of(name_of(entry.method), topology), HasSubstr("not a power of two"))
              << name_of(entry.method);
          continue;
        }
        if (needs_nodes(name_of(entry.method))) continue;
        for (int chunks : {0, 1, 2, 3}) {
          const Point point = classic_algorithm(entry.method, topology, {.chunks = chunks});
          EXPECT_THAT(violations(topology, point.collective, point.schedule), IsEmpty())
              << name_of(entry.method) << " on " << topology.name << " with " << ranks << " ranks, chunks "
              << chunks;
          EXPECT_THAT(
              differences(make_collective(entry.collective, ranks, point.cost.chunks), point.collective),
              IsEmpty())
              << name_of(entry.method);
          EXPECT_EQ(point.method, entry.method);
          EXPECT_EQ(point.cost.steps, static_cast<int>(point.schedule.steps.size()));
          EXPECT_EQ(point.cost.rounds, total_rounds(point.schedule));
          for (const Step& step : point.schedule.steps) EXPECT_EQ(step.rounds, needed_rounds(topology, step));
        }
      }
}

// Places and roots other than 0, 1, 2, ...
TEST(Classic, AnyOrderAndAnyRoot) {
  const Topology topology = test::hub(8);
  for (const ClassicEntry& entry : classic_catalogue())
    for (Rank root : {0, 3, 7}) {
      if (needs_nodes(name_of(entry.method))) continue;
      const Point point =
          classic_algorithm(entry.method, topology, {.order = {5, 2, 7, 0, 1, 4, 6, 3}, .root = root});
      EXPECT_THAT(violations(topology, point.collective, point.schedule), IsEmpty())
          << name_of(entry.method) << " from " << root;
      EXPECT_EQ(point.collective.root, root);
    }
}

// A rank of a hub sends one chunk per round, so rounds are what the busiest rank sends or receives. With n
// ranks and d = log2(n):
//   ring            n - 1 steps a phase, one chunk each
//   doubling        d steps; 1 + 2 + 4 + ... = n - 1 blocks
//   whole vectors   d steps of 1, or one step of n - 1
//   direct          n - 1 rounds in a single step a phase
TEST(Classic, CostsOnAHub) {
  const auto cost = [](const std::string& name) { return classic_algorithm(name, test::hub(8)).cost; };
  EXPECT_EQ(cost("ring_allgather"), (Cost{.steps = 7, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("ring_reducescatter"), (Cost{.steps = 7, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("ring_allreduce"), (Cost{.steps = 14, .rounds = 14, .chunks = 8}));
  EXPECT_EQ(cost("multi_ring_allgather"), (Cost{.steps = 7, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("recursive_doubling_allgather"), (Cost{.steps = 3, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("recursive_halving_reducescatter"), (Cost{.steps = 3, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("recursive_doubling_allreduce"), (Cost{.steps = 3, .rounds = 3, .chunks = 1}));
  EXPECT_EQ(cost("halving_doubling_allreduce"), (Cost{.steps = 6, .rounds = 14, .chunks = 8}));
  EXPECT_EQ(cost("direct_allgather"), (Cost{.steps = 1, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("direct_allreduce"), (Cost{.steps = 2, .rounds = 14, .chunks = 8}));
  EXPECT_EQ(cost("one_shot_allreduce"), (Cost{.steps = 1, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("direct_alltoall"), (Cost{.steps = 1, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("pairwise_alltoall"), (Cost{.steps = 7, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("pat_allgather"), (Cost{.steps = 3, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("pat_reducescatter"), (Cost{.steps = 3, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("multi_ring_broadcast"), (Cost{.steps = 7, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("multi_ring_reduce"), (Cost{.steps = 7, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("binomial_broadcast"), (Cost{.steps = 3, .rounds = 3, .chunks = 1}));
  EXPECT_EQ(cost("binomial_gather"), (Cost{.steps = 3, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("binomial_scatter"), (Cost{.steps = 3, .rounds = 7, .chunks = 1}));
}

// Bruck's steps are ceil(log2(n)) for any n; each brings a rank blocks that it lacks: n - 1 rounds in all.
// Of an Alltoall block d goes a step for each binary digit of d: of 6 ranks 1 to 5 have 7 ones, of 8 ranks
// 1 to 7 have 12. The root of a Broadcast sends n - 1 parts, and then each rank sends its own to all others.
TEST(Classic, CostsOfTextbooks) {
  const auto cost = [](const std::string& name, int ranks) {
    return classic_algorithm(name, test::hub(ranks)).cost;
  };
  EXPECT_EQ(cost("bruck_allgather", 6), (Cost{.steps = 3, .rounds = 5, .chunks = 1}));
  EXPECT_EQ(cost("bruck_allgather", 9), (Cost{.steps = 4, .rounds = 8, .chunks = 1}));
  EXPECT_EQ(cost("bruck_alltoall", 6), (Cost{.steps = 3, .rounds = 7, .chunks = 1}));
  EXPECT_EQ(cost("bruck_alltoall", 8), (Cost{.steps = 3, .rounds = 12, .chunks = 1}));
  EXPECT_EQ(cost("direct_broadcast", 6), (Cost{.steps = 2, .rounds = 10, .chunks = 6}));
  EXPECT_EQ(cost("direct_reduce", 6), (Cost{.steps = 2, .rounds = 10, .chunks = 6}));
}

// The d trees of a hypercube share no link, so each takes a chunk a step; the deepest rank is d + 1 hops off.
// 216 chunks of 64 ranks: 42 rounds, 1.167 times the 36 that the root's links need.
TEST(Classic, TreesOfAHypercubeShareNoLink) {
  for (const int d : {1, 2, 3, 4, 6})
    for (const char* const name : {"disjoint_trees_broadcast", "disjoint_trees_reduce"}) {
      const Topology cube = flatten(load_topology("hypercube:" + std::to_string(d)));
      const int waves = d * d, height = d == 1 ? 1 : d + 1, steps = waves + height - 1;
      const Point point = classic_algorithm(name, cube, {.chunks = waves * d, .root = (1 << d) - 1});
      EXPECT_EQ(point.cost, (Cost{.steps = steps, .rounds = steps, .chunks = waves * d})) << name << " " << d;
      EXPECT_THAT(violations(cube, point.collective, point.schedule), IsEmpty()) << name << " " << d;
    }
}

// Three nodes of two: a block goes to two other nodes, and then a rank has three blocks for its neighbour.
TEST(Classic, HierarchiesAreDirectOnTwoLevels) {
  Topology nodes = test::hub(6);
  for (Link& link : nodes.links) link.alpha_us = link.src / 2 == link.dst / 2 ? 1 : 5;
  const auto cost = [&](const char* name, int chunks) {
    const Point point = classic_algorithm(name, nodes, {.chunks = chunks});
    EXPECT_THAT(violations(nodes, point.collective, point.schedule), IsEmpty()) << name;
    return point.cost;
  };
  EXPECT_EQ(cost("hierarchical_allgather", 0), (Cost{.steps = 2, .rounds = 2 + 3, .chunks = 1}));
  EXPECT_EQ(cost("hierarchical_reducescatter", 2), (Cost{.steps = 2, .rounds = 10, .chunks = 2}));
  EXPECT_EQ(cost("hierarchical_allreduce", 0), (Cost{.steps = 4, .rounds = 10, .chunks = 6}));
  EXPECT_THAT(error_of("hierarchical_allreduce", test::hub(4)), HasSubstr("it is one node"));
}

// A heap of 7 has height 2: up, down, and one more step for every further chunk. On full:7 each edge is a
// link of its own, so each step is one round.
TEST(Classic, ThePipelineOfATreeStartsAChunkAStep) {
  for (int chunks : {1, 2, 5, 10})
    EXPECT_EQ(classic_algorithm("tree_allreduce", test::full(7), {.chunks = chunks}).cost,
              (Cost{.steps = 2 * 2 + chunks - 1, .rounds = 2 * 2 + chunks - 1, .chunks = chunks}));
}

// Along a chain of n - 1 hops, and one step more for each further chunk: a round per chunk, where a binomial
// tree of 8 ranks needs 3. PAT has ceil(log2(n)) steps for any n.
TEST(Classic, PipelinedChainsAndTreesOfBlocks) {
  for (const char* const name : {"multi_ring_broadcast", "multi_ring_reduce"})
    EXPECT_EQ(classic_algorithm(name, test::hub(8), {.chunks = 100, .root = 3}).cost,
              (Cost{.steps = 7 + 99, .rounds = 7 + 99, .chunks = 100}));
  for (const auto& [ranks, steps] : {std::pair{5, 3}, {6, 3}, {9, 4}, {15, 4}})
    EXPECT_EQ(classic_algorithm("pat_allgather", test::hub(ranks)).cost,
              (Cost{.steps = steps, .rounds = ranks - 1, .chunks = 1}));
}

// With many chunks, each rank of the two trees sends 2 parts of every chunk down and up in its inner tree,
// and the leaf's part in the other: 4 sends for two chunks, that is 2 rounds per chunk on a hub, near the
// bound 2(n-1)/n. The single tree needs 3: its inner ranks receive from two children and from above.
TEST(Classic, TwoTreesUseTheBandwidthThatOneLeaves) {
  const auto rate = [](const std::string& name) {
    const Cost cost = classic_algorithm(name, test::hub(15), {.chunks = 400}).cost;
    return static_cast<double>(cost.rounds) / cost.chunks;
  };
  EXPECT_NEAR(rate("two_tree_allreduce"), 2.0, 0.1);
  EXPECT_NEAR(rate("tree_allreduce"), 3.0, 0.1);
}

// 0 - 1 - 2 - 3 - 4 in dgx1 lacks 3 -> 4; its widest ring is the double one, 2 chunks an edge and round.
TEST(Classic, TheRingOfDgx1) {
  const Topology topology = dgx1();
  const std::vector<Rank> double_ring = {0, 1, 4, 5, 6, 7, 2, 3};
  const Point given = classic_algorithm("ring_allgather", topology, {.order = double_ring});
  EXPECT_THAT(violations(topology, given.collective, given.schedule), IsEmpty());
  EXPECT_EQ(given.cost, (Cost{.steps = 7, .rounds = 7, .chunks = 2}));
  EXPECT_EQ(classic_algorithm("ring_allgather", topology).cost, given.cost);
  EXPECT_THAT(error_of("ring_allgather", topology, {.order = {0, 1, 2, 3, 4, 5, 6, 7}}),
              HasSubstr("there is no link 3 -> 4"));
}

// A ring of four is a cube in the order 1, 0, 2, 3. Where there is no root, an order is used as it is given:
// turned to begin at rank 0 it would be 0, 2, 3, 1, which needs a link 0 -> 2.
TEST(Classic, OrdersWithoutARootAreNotTurned) {
  const Topology topology = test::ring(4);
  const Point point = classic_algorithm("recursive_doubling_allgather", topology, {.order = {1, 0, 2, 3}});
  EXPECT_THAT(violations(topology, point.collective, point.schedule), IsEmpty());
}

// NCCL's six rings on dgx1, as Cai et al. (2021) count them: Allgather in (7, 7, 6), AllReduce in (14, 14,
// 48).
TEST(Classic, AllRingsOfDgx1) {
  const Topology topology = dgx1();
  for (const std::string name : {"multi_ring_allgather", "multi_ring_reducescatter"}) {
    const Point point = classic_algorithm(name, topology);
    EXPECT_THAT(violations(topology, point.collective, point.schedule), IsEmpty());
    EXPECT_EQ(point.cost, (Cost{.steps = 7, .rounds = 7, .chunks = 6}));
  }
  const Point point = classic_algorithm("multi_ring_allreduce", topology);
  EXPECT_THAT(violations(topology, point.collective, point.schedule), IsEmpty());
  EXPECT_EQ(point.cost, (Cost{.steps = 14, .rounds = 14, .chunks = 48}));
}

// Both directions of ring(6), and each of two parallel links: 2 and 4 rings without waiting for each other.
TEST(Classic, RingsInBothDirectionsAndOverParallelLinks) {
  Topology topology = test::ring(6);
  EXPECT_EQ(classic_algorithm("multi_ring_allgather", topology).cost,
            (Cost{.steps = 5, .rounds = 5, .chunks = 2}));
  const std::vector<Link> links = topology.links;
  topology.links.insert(topology.links.end(), links.begin(), links.end());
  const Point point = classic_algorithm("multi_ring_allgather", topology);
  EXPECT_EQ(point.cost, (Cost{.steps = 5, .rounds = 5, .chunks = 4}));
  EXPECT_THAT(violations(topology, point.collective, point.schedule), IsEmpty());
}

// A ring that only goes in one direction must do for the ReduceScatter too.
TEST(Classic, OneWayRing) {
  Topology topology = test::ring(5);
  std::erase_if(topology.links, [](const Link& link) { return (link.src + 1) % 5 != link.dst; });
  for (const std::string name : {"ring_allgather", "ring_reducescatter", "ring_allreduce"}) {
    const Point point = classic_algorithm(name, topology);
    EXPECT_THAT(violations(topology, point.collective, point.schedule), IsEmpty()) << name;
  }
}

TEST(Classic, MissingLinksAreNamed) {
  const Topology ring = test::ring(8);
  EXPECT_THAT(error_of("direct_allgather", ring),
              HasSubstr("direct_allgather on ring: there is no link 0 -> 2"));
  EXPECT_EQ(error_of("tree_allreduce", ring), "no error");  // a chain along the ring
  EXPECT_THAT(error_of("tree_allreduce", ring, {.order = {0, 1, 2, 3, 4, 5, 6, 7}}),
              HasSubstr("tree_allreduce on ring: there is no link 7 -> 3"));
  Topology line = ring;  // without 7 -> 0 and 0 -> 7 nothing closes the ring
  line.links.resize(14);
  for (const std::string name :
       {"ring_allgather", "ring_reducescatter", "multi_ring_allreduce", "two_tree_allreduce"})
    EXPECT_THAT(error_of(name, line), HasSubstr("there is no link")) << name;
}

// Whether a machine is one for an algorithm is an answer, and no error: the same words, without one thrown.
TEST(Classic, SaysWhyAMachineIsNotOneForIt) {
  Topology line{.name = "line", .ranks = 3, .links = {{.src = 0, .dst = 1}, {.src = 1, .dst = 2}}};
  for (const ClassicEntry& entry : classic_catalogue()) {
    Unsuited why;
    const std::optional<Point> point = classic_if_possible(entry.method, line, {}, &why);
    const std::string said = error_of(name_of(entry.method), line);
    EXPECT_EQ(point.has_value(), said == "no error") << said;
    if (point) continue;
    EXPECT_THAT(said, AllOf(HasSubstr(why.words), HasSubstr(why.remedy)));
    EXPECT_EQ(classic_if_possible(entry.method, line), std::nullopt);
  }
}

// What is left out for its sends is known before it is made, and has more of them.
TEST(Classic, IsLeftOutForNoMoreSendsThanItHas) {
  for (const Topology& machine :
       {named_topology("full:8"), named_topology("ring:5"), named_topology("hypercube:4")})
    for (const ClassicEntry& entry : classic_catalogue())
      for (const int chunks : {0, 3})
        if (const std::optional<Point> point =
                classic_if_possible(entry.method, machine, {.chunks = chunks})) {
          const auto sends = static_cast<double>(total_sends(point->schedule));
          EXPECT_EQ(classic_if_possible(entry.method, machine, {.chunks = chunks, .most_sends = sends}),
                    point);
          EXPECT_EQ(classic_if_possible(entry.method, machine, {.chunks = chunks, .most_sends = sends / 8}),
                    std::nullopt);
        }
}

// The same sends in more steps, of fewer rounds in all, since a slice goes inside of nodes while another is
// between them; nodes at equal distances are cut evenly, so seven are as many slices as there can be.
TEST(Classic, HierarchiesInSlicesOverlapNodesAndTheNetwork) {
  const Machine machine = machine_of(named_topology("dgx-a100:8"));
  for (const Method method :
       {Method::HierarchicalAllgather, Method::HierarchicalReduceScatter, Method::HierarchicalAllReduce}) {
    const Point whole = classic_algorithm(method, machine);
    const int phases = method == Method::HierarchicalAllReduce ? 2 : 1;
    for (const int slices : {2, 4, 7}) {
      const Point sliced = classic_if_possible(method, machine, {.slices = slices}).value();
      EXPECT_THAT(violations(machine, sliced.collective, sliced.schedule), IsEmpty());
      EXPECT_EQ(sliced.cost.steps, phases * (slices + 1));
      EXPECT_EQ(total_sends(sliced.schedule), total_sends(whole.schedule));
      EXPECT_LT(sliced.cost.rounds, whole.cost.rounds);
    }
    for (const int slices : {0, 8})
      EXPECT_EQ(classic_if_possible(method, machine, {.slices = slices}), std::nullopt);
  }
  EXPECT_EQ(classic_if_possible(Method::RingAllgather, machine, {.slices = 2}), std::nullopt);
}

// Nodes of `gpus` ranks on a switch, and a network of one port per rank; which of them multicast and reduce.
Topology nodes_on_switches(int nodes, int gpus, bool inside, bool between) {
  Topology t{.name = "switched", .ranks = nodes * gpus, .switches = nodes + (nodes > 1 ? 1 : 0)};
  const auto join = [&t](Node a, Node b, int bandwidth, double alpha_us) {
    t.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth, .alpha_us = alpha_us});
    t.links.push_back({.src = b, .dst = a, .bandwidth = bandwidth, .alpha_us = alpha_us});
  };
  for (Rank n = 0; n < t.ranks; ++n) {
    join(n, t.ranks + n / gpus, 8, 0.4);
    if (nodes > 1) join(n, t.ranks + nodes, 1, 2.5);
  }
  for (int i = 0; i < t.switches; ++i) {
    const bool able = i < nodes ? inside : between;
    t.abilities.push_back({.multicast = able, .reduce = able});
  }
  return flatten(t);
}

// What switches do is verified as everything else; odd numbers of ranks and nodes, and few chunks, as well.
TEST(Classic, SwitchesAddAndCopy) {
  for (int nodes : {1, 2, 3, 5})
    for (int gpus : {1, 2, 3, 5})
      for (const auto& [inside, between] : {std::pair(true, false), {false, true}, {true, true}})
        for (const std::string name :
             {"nvls_allreduce", "nvls_tree_allreduce", "collnet_direct_allreduce", "collnet_chain_allreduce"})
          for (int chunks : {0, 1, 7, 64}) {
            const Topology topology = nodes_on_switches(nodes, gpus, inside, between);
            const std::string error = error_of(name, topology, {.chunks = chunks});
            const bool by_network = name.starts_with("collnet");
            const bool fits = by_network ? nodes > 1 && between
                              : name.ends_with("_tree_allreduce")
                                  ? nodes > 1 && gpus > 2 && inside
                                  : nodes == 1 && (gpus == 1 || (gpus > 2 && inside));
            if (gpus > 1 || nodes == 1) {  // ranks of one GPU each are one node, by their latencies
              EXPECT_EQ(error == "no error", fits) << name << " " << nodes << " x " << gpus << ": " << error;
            }
            if (error != "no error") continue;
            const Point point = classic_algorithm(name, topology, {.chunks = chunks});
            EXPECT_THAT(violations(topology, point.collective, point.schedule), IsEmpty())
                << name << " " << nodes << " x " << gpus << ", chunks " << chunks;
            for (const Step& step : point.schedule.steps)
              EXPECT_EQ(step.rounds, needed_rounds(topology, step));
          }
}

// Of eight ranks with a chunk each, seven sums go out of a rank and one comes in, in one step, and copies the
// other way in the next: 7 chunks over 8 lanes take a round. In waves a rank sends its data once and receives
// the sum once: 16 waves of 32 chunks take four rounds each, and one more fills the pipeline; the
// forward-only two-shot needs 2 x 7 / 8 of the data both ways.
TEST(Classic, NvlsMovesDataOnce) {
  const Topology topology = nodes_on_switches(1, 8, true, false);
  EXPECT_EQ(classic_algorithm("nvls_allreduce", topology).cost, (Cost{.steps = 2, .rounds = 2, .chunks = 8}));
  EXPECT_EQ(classic_algorithm("nvls_allreduce", topology, {.chunks = 8 * 64}).cost,
            (Cost{.steps = 17, .rounds = 68, .chunks = 512}));
}

TEST(Classic, SwitchesAreRefusedInWords) {
  EXPECT_THAT(error_of("nvls_allreduce", test::hub(8)), HasSubstr("do not multicast and reduce"));
  EXPECT_THAT(error_of("nvls_allreduce", nodes_on_switches(2, 4, true, false)), HasSubstr("2 nodes"));
  EXPECT_THAT(error_of("nvls_tree_allreduce", nodes_on_switches(1, 4, true, false)), HasSubstr("one node"));
  EXPECT_THAT(error_of("collnet_chain_allreduce", nodes_on_switches(2, 4, true, false)),
              HasSubstr("between its nodes"));
}

TEST(Classic, BadOptions) {
  const Topology topology = test::full(4);
  EXPECT_THAT(error_of("rign", topology), AllOf(HasSubstr("'rign'"), HasSubstr("ring_allgather")));
  EXPECT_THAT(error_of("ring_allgather", topology, {.order = {0, 1, 2}}), HasSubstr("every rank once"));
  EXPECT_THAT(error_of("ring_allgather", topology, {.order = {0, 1, 2, 2}}), HasSubstr("every rank once"));
  EXPECT_THAT(error_of("ring_allgather", topology, {.order = {0, 1, 2, 4}}), HasSubstr("every rank once"));
  EXPECT_THAT(error_of("tree_reduce", topology, {.root = 4}), HasSubstr("root 4"));
  EXPECT_THAT(error_of("tree_reduce", topology, {.root = -1}), HasSubstr("root -1"));
  EXPECT_THAT(error_of("ring_allgather", topology, {.chunks = -1}), HasSubstr("-1 chunks"));
  EXPECT_THAT(error_of("ring_allreduce", topology, {.chunks = 2'000'000'000}),
              HasSubstr("2000000000 chunks"));
}

TEST(Classic, TheCatalogueHasNoNameTwice) {
  std::vector<std::string> names;
  for (const ClassicEntry& entry : classic_catalogue()) names.push_back(name_of(entry.method));
  std::ranges::sort(names);
  EXPECT_TRUE(std::ranges::adjacent_find(names) == names.end());
}

// A million sends each. The sets of ranks are shared and the verifier follows one chunk at a time, so this
// takes the memory of the schedule and of one chunk; a list of ranks for each chunk, or a sum for each, would
// be gigabytes.
TEST(ClassicLong, AThousandRanksAreVerified) {
  const Topology ring = test::ring(1024);
  for (const Method method : {Method::RingAllgather, Method::RingReduceScatter}) {
    const Point point = classic_algorithm(method, ring);
    EXPECT_EQ(point.collective.chunks.size(), 1024u);
    EXPECT_THAT(violations(ring, point.collective, point.schedule, 1), IsEmpty()) << name_of(method);
    // Read back, what is asked is equal, and shares nothing with it.
    const Collective asked = make_collective(point.collective.kind, 1024, 1);
    EXPECT_THAT(differences(asked, point.collective, 1), IsEmpty());
  }
}

}  // namespace
}  // namespace chorale
