// Steps whose messages share a port, one after the other: the same messages and data, each link and limit
// loaded for one round at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "construct/baselines/classic.h"
#include "cost/cost.h"
#include "pareto/search.h"
#include "runtime/run.h"
#include "semantics/verify_program.h"
#include "tests/codegen/passes_alone.h"
#include "tests/semantics/machines.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale::test {
namespace {

// Ranks with a port per direction on one switch.
Topology star(int ranks, int port = 1) {
  Topology machine = full(ranks);
  for (Rank n = 0; n < ranks; ++n)
    for (const bool out : {true, false}) {
      SharedLimit limit{.name = (out ? "out " : "in ") + std::to_string(n), .bandwidth = port};
      for (LinkId link = 0; link < std::ssize(machine.links); ++link)
        if ((out ? machine.links[link].src : machine.links[link].dst) == n) limit.links.push_back(link);
      machine.limits.push_back(limit);
    }
  return machine;
}

// By epoch and pair of ranks, how many messages.
std::map<std::tuple<int, Rank, Rank>, int> messages(const Program& program) {
  std::map<std::tuple<int, Rank, Rank>, int> found;
  for (const MessageEnds& message : messages_of(program)) ++found[{message.step, message.from, message.to}];
  return found;
}

TEST(PortSerialization, ADirectAlltoallOnAStarIsARotation) {
  for (const int ranks : {2, 3, 5, 8}) {
    const Topology machine = star(ranks);
    const Point point = classic_algorithm("direct_alltoall", machine, {});
    const Program program = lower(machine, point.collective, point.schedule),
                  serialized = serialize_ports(machine, point.collective, point.schedule, program);
    EXPECT_EQ(program.steps, 1);
    ASSERT_EQ(serialized.steps, ranks - 1);
    for (const auto& [where, count] : messages(serialized)) {
      const auto [epoch, from, to] = where;
      EXPECT_EQ((to - from + ranks) % ranks, epoch + 1);
      EXPECT_EQ(count, 1);
    }
  }
}

TEST(PortSerialization, LinksOfTheirOwnNeedNone) {
  for (const char* machine : {"ring:6", "full:5", "dgx1", "torus:3x3"}) {
    const Topology topology = named_topology(machine);
    for (const char* collective : {"allgather", "allreduce", "alltoall"}) {
      const Result found =
          search_frontier(topology, make_collective(known_kind(collective), topology.ranks, 1, 0),
                          {.max_chunks = 2, .synthesis = {.limits = {.conflicts = 1000}}});
      for (const Point& point : found.points) {
        const Program program = lower(topology, point.collective, point.schedule);
        EXPECT_EQ(serialize_ports(topology, point.collective, point.schedule, program), program) << machine;
      }
    }
  }
}

// What epochs load, by the definition: no link and no limit beyond one round, and messages of one step stay
// together in order.
void expect_serialized(const Topology& machine, const Point& point, const Program& program,
                       const Program& serialized) {
  const auto before = messages_of(program), after = messages_of(serialized);
  ASSERT_EQ(before.size(), after.size());
  std::map<int, std::map<LinkId, int>> sent;  // by epoch
  std::map<int, std::set<int>> steps;         // by epoch, of the program
  std::map<int, int> epochs;                  // by step, how many
  std::vector<LinkId> link_of;
  for (const Step& step : point.schedule.steps)
    for (const Send& send : step.sends) link_of.push_back(send.link);
  for (std::size_t m = 0; m < before.size(); ++m) {
    EXPECT_EQ(std::tuple(before[m].from, before[m].src, before[m].to, before[m].dst),
              std::tuple(after[m].from, after[m].src, after[m].to, after[m].dst));
    ++sent[after[m].step][link_of[m]];
    if (steps[after[m].step].insert(before[m].step).second) ++epochs[before[m].step];
  }
  for (const auto& [epoch, of] : steps) EXPECT_EQ(of.size(), 1U);
  for (const auto& [epoch, sends] : sent) {
    if (epochs[*steps[epoch].begin()] == 1) continue;  // this step stayed as it is
    for (const auto& [link, count] : sends) EXPECT_LE(count, machine.links[link].bandwidth);
    for (const SharedLimit& limit : machine.limits) {
      int all = 0;
      for (const LinkId link : limit.links) all += sends.contains(link) ? sends.at(link) : 0;
      EXPECT_LE(all, limit.bandwidth);
    }
  }
  for (const auto& [step, count] : epochs)
    EXPECT_LE(count, needed_rounds(machine, point.schedule.steps[step]));
}

TEST(PortSerializationLong, OnRandomMachinesEveryScheduleStillDoesWhatItDid) {
  std::mt19937 random(71);
  int changed = 0, programs = 0;
  for (int i = 0; i < 40; ++i) {
    Topology machine = star(3 + i % 3, 1 + static_cast<int>(random() % 2));
    for (Link& link : machine.links) link.bandwidth = 1 + static_cast<int>(random() % 2);
    std::erase_if(machine.limits, [&](const SharedLimit&) { return random() % 4 == 0; });
    const CollectiveKind kinds[] = {CollectiveKind::Allgather, CollectiveKind::AllReduce,
                                    CollectiveKind::Alltoall, CollectiveKind::ReduceScatter,
                                    CollectiveKind::Broadcast};
    const Result found = search_frontier(machine, make_collective(kinds[i % 5], machine.ranks, 1, 0),
                                         {.max_chunks = 2, .synthesis = {.limits = {.conflicts = 500}}});
    for (const Point& point : found.points) {
      const Program program = lower(machine, point.collective, point.schedule),
                    serialized = serialize_ports(machine, point.collective, point.schedule, program);
      ++programs;
      changed += serialized.steps > program.steps;
      EXPECT_TRUE(violations(machine, point.collective, serialized).empty());
      expect_serialized(machine, point, program, serialized);
      const RunOptions run{.bytes = {24}, .iterations = 1, .warm_up = 0};
      for (const RunRow& row : run_on_threads(serialized, point.collective, run)) EXPECT_EQ(row.wrong, 0);
      const Program one_memory = in_place(machine, point.collective, program);
      const Program one_serialized = serialize_ports(machine, point.collective, point.schedule, one_memory);
      EXPECT_EQ(one_serialized.steps - one_memory.steps, serialized.steps - program.steps);
      for (const RunRow& row : run_on_threads(one_serialized, point.collective, run)) EXPECT_EQ(row.wrong, 0);
    }
  }
  EXPECT_GT(changed, programs / 4) << programs;
}

TEST(PortSerialization, PaysWhereLatencyIsNothing) {
  Topology machine = star(4);
  for (Link& link : machine.links) link.alpha_us = 2, link.beta_us_per_byte = 0.01;
  const double round = round_beta_us_per_byte(machine);
  EXPECT_DOUBLE_EQ(serialized_above(machine), 200 / round);
  for (Link& link : machine.links) link.beta_us_per_byte = 0;
  EXPECT_EQ(serialized_above(machine), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace chorale::test
