// What switches do in programs of shared memory: which sends become one operation, and what the verifier
// refuses of it.
#include "codegen/passes/by_switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "semantics/verify_peers.h"
#include "tests/codegen/switched.h"

namespace chorale {
namespace {

using test::able_machines;
using test::able_schedules;
using test::count_of;
using test::SwitchCount;
using test::switched;
using test::with_able_switches;
using testing::HasSubstr;

// The AllReduce of owners on a hub: each owner loads one sum for each of its chunks and stores it once, and
// tells all by one signal.
TEST(BySwitch, OwnersLoadOneSumAndStoreItOnce) {
  const Topology hub = with_able_switches("hub:4");
  for (const bool in_place : {false, true}) {
    const Verified<PeerProgram> program = switched(able_schedules(hub, "allreduce", 8).back(), in_place);
    EXPECT_EQ(program->teams, (Teams{{0, 1, 2, 3}}));
    const SwitchCount count = count_of(*program);
    EXPECT_EQ(count.sums, 8);
    EXPECT_EQ(count.copies, 8);
    EXPECT_EQ(count.signals, 8);
  }
}

// By hand: 3 ranks, each has 1 chunk that the other two want.
TEST(BySwitch, AnAllgatherIsOneStoreOfEachRank) {
  const Verified<PeerProgram> program =
      switched(able_schedules(with_able_switches("hub:3"), "allgather", 1).front());
  const SwitchCount count = count_of(*program);
  EXPECT_EQ(count.sums, 0);
  EXPECT_EQ(count.copies, 3);
}

TEST(BySwitch, AReduceScatterIsOneLoadOfEachRank) {
  const Verified<PeerProgram> program =
      switched(able_schedules(with_able_switches("hub:5"), "reducescatter", 2).front());
  EXPECT_EQ(count_of(*program).sums, 10);
  EXPECT_EQ(count_of(*program).copies, 0);
}

// The slots of a team have one number at all its ranks, and nothing else is there.
TEST(BySwitch, EveryProgramOfEveryMachineIsVerified) {
  int programs = 0, by_switch = 0;
  for (const std::string& machine : able_machines) {
    const Topology topology = with_able_switches(machine);
    for (const char* kind : {"allreduce", "reducescatter", "allgather", "broadcast", "reduce"})
      for (const int chunks : {1, 3}) {
        if (topology.ranks > 8 && chunks > 1) continue;
        for (const Verified<Schedule>& schedule : able_schedules(topology, kind, chunks))
          for (const bool in_place : {false, true}) {
            ++programs;
            by_switch += !switched(schedule, in_place)->teams.empty();  // throws if the verifier refuses it
          }
      }
  }
  EXPECT_GT(programs, 200);
  EXPECT_GT(by_switch, programs * 3 / 4);
}

// Several ranks that add the same values by a switch may have other bits, so one of them adds for all where
// they are to agree; another one for each chunk.
TEST(BySwitch, RanksThatAgreeDoNotEachAskTheSwitch) {
  const Topology hub = with_able_switches("hub:4");
  const auto in_one_step = [&](const SumOrder& order) {
    const std::vector<Verified<Schedule>> all = able_schedules(hub, "allreduce", 4, order);
    return *std::ranges::find_if(all, [](const auto& schedule) { return schedule->steps.size() == 1; });
  };
  const Verified<Schedule> agreed = in_one_step({.kind = SumOrder::Kind::Agreed});
  EXPECT_TRUE(made_by_switches(switch_uses(agreed), true));
  for (const bool in_place : {false, true}) {
    const SwitchCount count = count_of(*switched(agreed, in_place));
    EXPECT_EQ(count.sums, 4);
    EXPECT_EQ(count.copies, 4);
  }
  const SwitchCount free = count_of(*switched(in_one_step({.kind = SumOrder::Kind::Free})));
  EXPECT_EQ(free.sums, 16);
  EXPECT_EQ(free.copies, 0);
}

// What is not the sum of a whole team stays messages, and is counted.
TEST(BySwitch, ASumOfSomeStaysMessages) {
  const Topology hub = with_able_switches("hub:4");
  const Collective collective = make_collective("reduce", 4, 1, 3);
  Schedule schedule;
  const auto step = [&](std::vector<Rank> from, Rank to) {
    Step& next = schedule.steps.emplace_back();
    for (const Rank n : from) next.sends.push_back({.link = find_link(hub, n, to), .reduce = true});
  };
  step({0, 1}, 2);
  step({2}, 3);
  const Verified<Schedule> verified = accepted(hub, collective, schedule);
  EXPECT_TRUE(switched(verified)->teams.empty());
  EXPECT_EQ(switch_uses(verified).missed, 1);
}

struct Mutants : testing::Test {
  const Verified<PeerProgram> right =
      switched(able_schedules(with_able_switches("hub:4"), "allreduce", 4).back());

  // The first instruction that is so, changed.
  template <typename Is, typename Edit>
  std::string refusal(Is is, Edit edit) {
    PeerProgram program = *right;
    bool done = false;
    for_each_instruction(program, [&](Rank, int, int, PeerInstruction& i) {
      if (!done && is(i)) edit(i), done = true;
    });
    EXPECT_TRUE(done);
    return refusal(program);
  }
  std::string refusal(const PeerProgram& program) {
    const std::vector<Fault> faults = violations(right.collective(), program);
    return faults.empty() ? "" : faults.front().words;
  }
  static bool loads(const PeerInstruction& i) {
    return !i.does.from.empty() && i.does.from.front().team >= 0;
  }
  static bool stores(const PeerInstruction& i) { return !i.does.to.empty() && i.does.to.back().team >= 0; }
};

TEST_F(Mutants, AMissingContributor) {
  PeerProgram program = *right;
  program.teams = {{0, 1, 2, 3}, {1, 2, 3}};
  bool done = false;
  for_each_instruction(program, [&](Rank, int, int, PeerInstruction& i) {
    if (!done && loads(i)) i.does.from.front().team = 1, done = true;
  });
  EXPECT_THAT(refusal(program), HasSubstr("output[0]"));
}

// Each store of a sum also into the slots of each other sum.
TEST_F(Mutants, ASlotThatOthersStillUse) {
  std::set<int> slots;
  for_each_instruction(*right, [&](Rank, int, int, const PeerInstruction& i) {
    if (loads(i)) slots.insert(i.does.from.front().slot.index);
  });
  EXPECT_EQ(slots.size(), 4);
  int mutants = 0, refused = 0;
  for_each_instruction(*right, [&](Rank n, int b, int k, const PeerInstruction& store) {
    for (const int slot : slots) {
      if (!loads(store) || !stores(store) || slot == store.does.from.front().slot.index) continue;
      PeerProgram program = *right;
      program.ranks[n].blocks[b].instructions[k].does.to.push_back({{Buffer::Scratch, slot}, -1, 0});
      ++mutants;
      refused += !refusal(program).empty();
    }
  });
  EXPECT_EQ(mutants, 12);
  EXPECT_EQ(refused, 12);
}

TEST_F(Mutants, AReadBeforeTheOthersHaveArrived) {
  for (Rank n = 0; n < 4; ++n) {
    PeerProgram program = *right;
    std::vector<PeerInstruction>& all = program.ranks[n].blocks[0].instructions;
    const auto load = std::ranges::find_if(all, loads);
    const auto wait =
        std::find_if(std::make_reverse_iterator(load), all.rend(),
                     [](const PeerInstruction& i) { return i.opcode == PeerOpcode::Wait && i.lag == 0; });
    ASSERT_NE(wait, all.rend());
    all.erase(std::prev(wait.base()));
    EXPECT_FALSE(refusal(program).empty()) << n;
  }
}

TEST_F(Mutants, AWaitForALaunchThatIsLeftOut) {
  const Verified<PeerProgram> copies =
      switched(able_schedules(with_able_switches("hub:4"), "broadcast", 1).front());
  PeerProgram program = *copies;
  for (PeerRank& rank : program.ranks)
    std::erase_if(rank.blocks[0].instructions,
                  [](const PeerInstruction& i) { return i.opcode == PeerOpcode::Wait && i.lag > 0; });
  const std::vector<Fault> faults = violations(copies.collective(), program);
  ASSERT_FALSE(faults.empty());
  EXPECT_THAT(faults.front().words, HasSubstr("nothing orders that"));
}

TEST_F(Mutants, ASignalToOneOfTheTeam) {
  EXPECT_FALSE(refusal([](const PeerInstruction& i) { return i.team >= 0; },
                       [](PeerInstruction& i) { i.rank = 0, i.team = -1; })
                   .empty());
}

TEST_F(Mutants, FormsThatNoSwitchHas) {
  EXPECT_THAT(refusal(loads, [](PeerInstruction& i) { i.does.from.front().team = 7; }),
              HasSubstr("there is no team 7"));
  PeerProgram uneven = *right;
  ++uneven.ranks[2].scratch_chunks;
  EXPECT_THAT(refusal(uneven), HasSubstr("lies at other offsets at ranks 0 and 2"));
  for (const std::vector<Rank>& team : {std::vector<Rank>{0}, {1, 0}, {0, 0}, {2, 4}}) {
    PeerProgram program = *right;
    program.teams.push_back(team);
    EXPECT_THAT(refusal(program), HasSubstr("team 1 is not of two or more"));
  }
}

// Of an owner's sum each rank makes its own by the switch.
TEST_F(Mutants, SumsThatRanksDoNotAgreeOn) {
  const Topology hub = with_able_switches("hub:3");
  for (const Verified<Schedule>& schedule :
       able_schedules(hub, "allreduce", 3, {.kind = SumOrder::Kind::Free})) {
    if (schedule->steps.size() != 1) continue;
    const Verified<PeerProgram> free = switched(schedule);
    ASSERT_EQ(count_of(*free).sums, 9);
    Collective agreed = free.collective();
    agreed.order = {};
    const std::vector<Fault> faults = violations(agreed, *free);
    ASSERT_FALSE(faults.empty());
    EXPECT_EQ(faults.front().kind, Fault::Kind::Order);
    EXPECT_THAT(faults.front().words, HasSubstr("in different orders"));
  }
}

}  // namespace
}  // namespace chorale
