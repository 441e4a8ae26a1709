// Every rule of the verifier, broken one at a time in schedules that are right otherwise.
#include "semantics/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/faults.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

using test::is;
using test::Kind;
using test::says;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Faulty {
  Topology topology = {};
  Collective collective = {};
  Schedule schedule = {};
  std::vector<Fault> faults(int limit = 10) const {
    return violations(topology, collective, schedule, limit);
  }
  Send& send(int step, int i) { return schedule.steps[step].sends[i]; }
};

// Links of full(3): 0: 0->1, 1: 0->2, 2: 1->0, 3: 1->2, 4: 2->0, 5: 2->1. Everyone sends to everyone at once.
Faulty direct_allgather() {
  Faulty c{test::full(3), make_collective("allgather", 3, 1), {}};
  c.schedule.steps = {{.rounds = 1,
                       .sends = {{.chunk = 0, .link = 0},
                                 {.chunk = 0, .link = 1},
                                 {.chunk = 1, .link = 2},
                                 {.chunk = 1, .link = 3},
                                 {.chunk = 2, .link = 4},
                                 {.chunk = 2, .link = 5}}}};
  return c;
}

// Links of ring(3): 0: 0->1, 2: 1->2, 4: 2->0 clockwise. One chunk for all: 0 adds into 1, 1 into 2; then 2
// hands the sum to 0 (link 4) and to 1 (link 3: 2->1).
Faulty reduce_then_broadcast() {
  Faulty c{test::ring(3), make_collective("allreduce", 3, 1), {}};
  c.schedule.steps = {
      {.rounds = 1, .sends = {{.chunk = 0, .link = 0, .reduce = true}}},
      {.rounds = 1, .sends = {{.chunk = 0, .link = 2, .reduce = true}}},
      {.rounds = 1, .sends = {{.chunk = 0, .link = 3}, {.chunk = 0, .link = 4}}},
  };
  return c;
}

// Each rank's part of all vectors in one step, and the sums of these, chunks 9 to 11, in the next.
Faulty direct_phases() {
  Faulty c{test::full(3), make_collective("allreduce_in_phases", 3, 3), {}};
  c.schedule.steps = {{.rounds = 1}, {.rounds = 1}};
  for (LinkId l = 0; l < 6; ++l) {
    const Link& link = c.topology.links[l];
    c.schedule.steps[0].sends.push_back({.chunk = 3 * link.src + link.dst, .link = l});
    c.schedule.steps[1].sends.push_back({.chunk = 9 + link.src, .link = l});
  }
  return c;
}

TEST(Violations, SumsLeaveWhenAllOfTheirTermsAreThere) {
  EXPECT_THAT(direct_phases().faults(), IsEmpty());
  Faulty early = direct_phases();  // the last part of rank 0 comes with the sums
  early.schedule.steps[1].sends.push_back(early.send(0, 2));
  early.schedule.steps[1].rounds = 2;
  early.schedule.steps[0].sends.erase(early.schedule.steps[0].sends.begin() + 2);
  EXPECT_THAT(early.faults(),
              Contains(says(Kind::Absent,
                            "step 2: rank 0 sends chunk 9 over link 0 (0 -> 1), but does not hold it")));
  Faulty lost = direct_phases();
  lost.schedule.steps[0].sends.pop_back();
  EXPECT_THAT(lost.faults(), Contains(says(Kind::Outcome, "at the end: rank 1 does not have chunk 7")));
  Faulty form = direct_phases();
  form.collective.chunks[9].pre = {0, 1};
  EXPECT_THAT(form.faults(),
              Contains(says(Kind::Form, "the collective: chunk 9 is not the sum of others at one rank")));
}

TEST(Violations, NoneInGoodSchedules) {
  EXPECT_THAT(direct_allgather().faults(), IsEmpty());
  EXPECT_THAT(reduce_then_broadcast().faults(), IsEmpty());
}

// All contributions at once, each read before the step: everyone has 0 + 1 + 2 after one step.
TEST(Violations, NoneWhenAllAddAtOnce) {
  Faulty c = direct_allgather();
  c.collective = make_collective("allreduce", 3, 1);
  for (Send& send : c.schedule.steps[0].sends) send = {.chunk = 0, .link = send.link, .reduce = true};
  EXPECT_THAT(c.faults(), IsEmpty());
}

// A rank outside the group holds nothing; what is added to nothing is what it relays.
TEST(Violations, NoneWhenARelayAddsUp) {
  Faulty c{test::ring(4), {.custom_name = "pair", .ranks = 4, .combining = true}, {}};
  c.collective.chunks = {{.pre = {0, 2}, .post = {2}}};
  c.schedule.steps = {{.sends = {{.chunk = 0, .link = 0, .reduce = true}}},   // 0 -> 1
                      {.sends = {{.chunk = 0, .link = 2, .reduce = true}}}};  // 1 -> 2
  EXPECT_THAT(c.faults(), IsEmpty());
  c.schedule.steps[0].sends[0].reduce = false;  // a copy does the same
  EXPECT_THAT(c.faults(), IsEmpty());
}

// In one step the copy comes first and the addition second: rank 1 gets {2} from 2, then {0} from 0 on top;
// its own contribution is gone unless it left before.
TEST(Violations, CopyBeforeAdditionInOneStep) {
  Faulty c{test::ring(3), make_collective("reduce", 3, 1, 1), {}};
  c.schedule.steps = {{.sends = {{.chunk = 0, .link = 2, .reduce = true}}},  // 1 -> 2: {1, 2}
                      {.sends = {{.chunk = 0, .link = 0, .reduce = true},    // 0 -> 1
                                 {.chunk = 0, .link = 3}}}};                 // 2 -> 1 replaces
  EXPECT_THAT(c.faults(), IsEmpty());
  c.schedule.steps.erase(c.schedule.steps.begin());
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Outcome, {.rank = 1, .chunk = 0})));
}

TEST(Violations, RemovedSend) {
  Faulty c = direct_allgather();
  c.schedule.steps[0].sends.erase(c.schedule.steps[0].sends.begin() + 3);
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Outcome, {.rank = 2, .chunk = 1})));
}

TEST(Violations, RemovedAddition) {
  Faulty c = reduce_then_broadcast();
  c.schedule.steps[0].sends.clear();
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Outcome, {.rank = 0, .chunk = 0}),
                                      is(Kind::Outcome, {.rank = 1, .chunk = 0}),
                                      is(Kind::Outcome, {.rank = 2, .chunk = 0})));
}

TEST(Violations, SameSendTwice) {
  Faulty c = direct_allgather();
  c.schedule.steps[0].sends.push_back({.chunk = 0, .link = 1});  // far from its twin: order does not matter
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Repeated, {.step = 0, .chunk = 0, .link = 1}),
                                      is(Kind::Bandwidth, {.step = 0, .link = 1}),
                                      is(Kind::Repeated, {.rank = 2, .step = 0, .chunk = 0})));
}

TEST(Violations, SecondCopyLater) {
  Faulty c = direct_allgather();
  c.schedule.steps.push_back({.sends = {{.chunk = 2, .link = 0}}});
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Repeated, {.rank = 1, .step = 1, .chunk = 2, .link = 0})));
}

TEST(Violations, CopyOfACompleteSum) {
  Faulty c = reduce_then_broadcast();
  c.schedule.steps.push_back({.sends = {{.chunk = 0, .link = 0}}});
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Repeated, {.rank = 1, .step = 3, .chunk = 0, .link = 0})));
}

TEST(Violations, TwoCopiesInOneStep) {
  Faulty c{test::ring(3), make_collective("broadcast", 3, 1), {}};
  c.schedule.steps = {{.sends = {{.chunk = 0, .link = 0}}},                            // 0 -> 1
                      {.sends = {{.chunk = 0, .link = 2}, {.chunk = 0, .link = 5}}}};  // 1 -> 2 and 0 -> 2
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Repeated, {.rank = 2, .step = 1, .chunk = 0})));
}

TEST(Violations, SwappedLink) {
  Faulty c = direct_allgather();
  c.send(0, 0).link = 3;  // 1 -> 2 instead of 0 -> 1
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Bandwidth, {.step = 0, .link = 3}),
                                      is(Kind::Absent, {.rank = 1, .step = 0, .chunk = 0, .link = 3}),
                                      is(Kind::Repeated, {.rank = 2, .step = 0, .chunk = 0}),
                                      is(Kind::Outcome, {.rank = 1, .chunk = 0})));
}

TEST(Violations, WrongChunk) {
  Faulty c = direct_allgather();
  c.send(0, 2).chunk = 2;  // 1 -> 0
  EXPECT_THAT(c.faults(), Contains(is(Kind::Absent, {.rank = 1, .step = 0, .chunk = 2, .link = 2})));
}

// What arrives in a step cannot be passed on in the same step.
TEST(Violations, PassedOnTooEarly) {
  Faulty c{test::ring(3), make_collective("broadcast", 3, 1), {}};
  c.schedule.steps = {{.sends = {{.chunk = 0, .link = 0}, {.chunk = 0, .link = 2}}}};
  EXPECT_THAT(c.faults(), Contains(is(Kind::Absent, {.rank = 1, .step = 0, .chunk = 0, .link = 2})));
}

TEST(Violations, TooManyChunksOnALink) {
  Faulty c{test::ring(8), make_collective("broadcast", 8, 4), {}};
  c.schedule.steps = {{.rounds = 2}};
  c.topology.links[0].bandwidth = 2;
  for (Chunk k = 0; k < 4; ++k) c.schedule.steps[0].sends.push_back({.chunk = k, .link = 0});
  EXPECT_THAT(c.faults(1), ElementsAre(is(Kind::Outcome)));  // 4 chunks fit into 2 rounds of 2
  c.schedule.steps[0].rounds = 1;
  EXPECT_THAT(c.faults(1)[0], is(Kind::Bandwidth, {.step = 0, .link = 0}));
}

// On hub(3) each rank sends two chunks, and one may leave in a round.
TEST(Violations, TooManyChunksInASharedLimit) {
  Faulty c = direct_allgather();
  c.topology = test::hub(3);
  EXPECT_THAT(c.faults(), SizeIs(6));
  EXPECT_THAT(c.faults(), Contains(is(Kind::Bandwidth, {.step = 0})));
  c.schedule.steps[0].rounds = 2;
  EXPECT_THAT(c.faults(), IsEmpty());
}

// rounds * bandwidth is past 32 bits; the verifier must not wrap around.
TEST(Violations, HugeBandwidthDoesNotOverflow) {
  Faulty c = direct_allgather();
  for (Link& link : c.topology.links) link.bandwidth = 2'000'000'000;
  c.schedule.steps[0].rounds = 2'000'000'000;
  EXPECT_THAT(c.faults(), IsEmpty());
}

TEST(Violations, ReducedRounds) {
  Faulty c = direct_allgather();
  c.schedule.steps[0].rounds = 0;
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Form, {.step = 0})));
}

TEST(Violations, ReduceFlagFlippedOff) {
  Faulty c = reduce_then_broadcast();
  c.send(0, 0).reduce = false;  // rank 1 loses its own contribution
  EXPECT_THAT(c.faults(1), ElementsAre(is(Kind::Outcome, {.rank = 0, .chunk = 0})));
}

TEST(Violations, ReduceFlagFlippedOn) {
  Faulty c = direct_allgather();
  c.send(0, 0).reduce = true;
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Match, {.rank = 1, .step = 0, .chunk = 0, .link = 0})));
}

// An addition onto a copy, where nothing may be added: stated, and no reason to look further.
TEST(Violations, AdditionOntoACopy) {
  Faulty c = direct_allgather();
  c.schedule.steps.push_back({.sends = {{.chunk = 0, .link = 2, .reduce = true}}});
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Match, {.rank = 0, .step = 1, .chunk = 0, .link = 2}),
                                      is(Kind::Outcome, {.rank = 0, .chunk = 0})));
}

// As sets {0, 1} + {0, 1, 2} would be all of it; as sums 0 and 1 are counted twice.
TEST(Violations, ContributionTwice) {
  Faulty c = reduce_then_broadcast();
  c.send(2, 0).reduce = true;  // 2 adds the sum to what 1 has
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::CountedTwice, {.rank = 1, .step = 2, .chunk = 0}),
                                      is(Kind::Outcome, {.rank = 1, .chunk = 0})));
}

// Two neighbours that add to each other every step double what they count; no counter may wrap to a right
// one.
TEST(Violations, CountsDoNotWrapAround) {
  Faulty c{test::ring(3), make_collective("reduce", 3, 1, 0), {}};
  for (int s = 0; s < 300; ++s)
    c.schedule.steps.push_back(
        {.sends = {{.chunk = 0, .link = 0, .reduce = true}, {.chunk = 0, .link = 1, .reduce = true}}});
  const std::vector<Fault> faults = c.faults(100'000);
  EXPECT_THAT(faults, SizeIs(299 * 2 + 1));  // every step but the first, at both; and the end
}

TEST(Violations, OutOfRange) {
  Faulty c = direct_allgather();
  c.send(0, 0).chunk = 3;
  c.send(0, 1).chunk = -1;
  c.send(0, 2).link = 6;
  c.send(0, 3).link = -1;
  c.schedule.steps[0].rounds = -5;
  EXPECT_THAT(c.faults(),
              ElementsAre(is(Kind::Form, {.step = 0}), is(Kind::Form, {.step = 0, .chunk = 3}),
                          is(Kind::Form, {.step = 0, .chunk = -1}), is(Kind::Form, {.step = 0, .link = 6}),
                          is(Kind::Form, {.step = 0, .link = -1})));
}

TEST(Violations, LinkToASwitch) {
  Faulty c = direct_allgather();
  c.topology.switches = 1;
  c.topology.links[4].dst = 3;
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Form, {.step = 0, .link = 4})));
}

TEST(Violations, CollectiveThatDoesNotFit) {
  Faulty c = direct_allgather();
  c.collective = make_collective("allgather", 4, 1);
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Size)));
  c = direct_allgather();
  c.collective.chunks[1].post = {0, 1, 7};
  c.collective.chunks[2].pre = {};
  c.collective.chunks[0].post = {2, 1, 1};
  EXPECT_THAT(c.faults(), ElementsAre(is(Kind::Form, {.chunk = 0}), is(Kind::Form, {.chunk = 1}),
                                      is(Kind::Form, {.chunk = 2})));
}

// People are told in whole sentences, and count steps from 1.
TEST(Violations, InWords) {
  Faulty c = direct_allgather();
  c.send(0, 0).link = 3;  // 1 -> 2 instead of 0 -> 1
  EXPECT_THAT(
      c.faults(),
      ElementsAre(
          says(Kind::Bandwidth, "step 1: link 3 (1 -> 2) carries 2 chunks, at most 1 in 1 round"),
          says(Kind::Absent, "step 1: rank 1 sends chunk 0 over link 3 (1 -> 2), but does not hold it"),
          says(Kind::Repeated, "step 1: rank 2 receives two copies of chunk 0"),
          says(Kind::Outcome, "at the end: rank 1 does not have chunk 0")));
  c = reduce_then_broadcast();
  c.send(2, 0).reduce = true;
  c.schedule.steps[0].sends.clear();
  EXPECT_THAT(
      c.faults(),
      testing::IsSupersetOf(
          {says(Kind::Outcome, "the sum of chunk 0 at rank 0 lacks the contribution of rank 0"),
           says(Kind::CountedTwice, "the contribution of rank 1 to chunk 0 is counted 2 times at rank 1")}));
}

TEST(Violations, EmptyScheduleMissesEverything) {
  Faulty c{test::ring(4), make_collective("allgather", 4, 1), {}};
  EXPECT_THAT(c.faults(100), SizeIs(12));  // 4 ranks lack 3 chunks each
  EXPECT_THAT(c.faults(), SizeIs(10));     // as many as asked for
  EXPECT_THAT(c.faults(3), SizeIs(3));
}

TEST(Violations, OneRankNeedsNoSteps) {
  for (const std::string& name : collective_names())
    EXPECT_THAT(violations({.name = "one", .ranks = 1}, make_collective(name, 1, 2), Schedule{}), IsEmpty())
        << name;
}

// The largest schedules that are planned: AllReduce with one accumulator for each of 64 contributions to 960
// chunks at 64 ranks, 60480 reducing sends and as many copies. No clock here; a verifier that copied its 4 MB
// of state every step would still pass, but the test suite would feel it.
TEST(Violations, LargeRing) {
  const int ranks = 64, pieces = 15;
  Faulty c{test::ring(ranks), make_collective("allreduce", ranks, ranks * pieces), {}};
  for (int phase = 0; phase < 2; ++phase)
    for (int s = 0; s < ranks - 1; ++s) {
      Step step{.rounds = pieces};
      for (Rank n = 0; n < ranks; ++n)
        for (int i = 0; i < pieces; ++i) {
          const int block = ((n - s + phase) % ranks + ranks) % ranks;
          step.sends.push_back({.chunk = block * pieces + i, .link = 2 * n, .reduce = phase == 0});
        }
      c.schedule.steps.push_back(step);
    }
  EXPECT_THAT(c.faults(), IsEmpty());
  c.schedule.steps[100].sends.erase(c.schedule.steps[100].sends.begin() + 500);
  EXPECT_FALSE(c.faults().empty());
}

TEST(Differences, NoneBetweenACollectiveAndItself) {
  for (const std::string& name : collective_names())
    EXPECT_THAT(differences(make_collective(name, 4, 2), make_collective(name, 4, 2)), IsEmpty()) << name;
}

// Both put sum over ranks of input i at output i of every rank.
TEST(Differences, GatheringEverythingIsAnAllReduce) {
  EXPECT_THAT(differences(make_collective("allreduce", 4, 3), make_collective("allreduce_by_gather", 4, 3)),
              IsEmpty());
  EXPECT_THAT(differences(make_collective("allreduce", 4, 3), make_collective("allreduce_by_gather", 4, 2)),
              SizeIs(4));  // output 2 is missing at each of 4 ranks
}

TEST(Differences, AllgatherIsNotAnAllReduce) {
  const auto found = differences(make_collective("allreduce", 2, 1), make_collective("allgather", 2, 1));
  EXPECT_THAT(
      found,
      ElementsAre(is(Kind::Outcome, {.rank = 0, .chunk = 0}), is(Kind::Outcome, {.rank = 0, .chunk = 1}),
                  is(Kind::Outcome, {.rank = 1, .chunk = 0}), is(Kind::Outcome, {.rank = 1, .chunk = 1})));
}

// A sum is not a union: the same rank twice is another sum.
TEST(Differences, CountsMatter) {
  Collective twice = make_collective("allreduce_by_gather", 2, 1);
  twice.chunks.push_back(twice.chunks[1]);
  EXPECT_THAT(differences(make_collective("allreduce", 2, 1), twice),
              Contains(is(Kind::Outcome, {.rank = 0, .chunk = 0})));
}

}  // namespace
}  // namespace chorale
