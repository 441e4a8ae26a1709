#include <gtest/gtest.h>

#include "construct/engine/solved_question.h"
#include "encoder/contribution_encoding.h"
#include "encoder/step_round_encoding.h"
#include "pareto/formulas.h"
#include "pareto/instance_solver.h"
#include "semantics/verify.h"
#include "solvers/sat_solver.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

Topology machine(const std::string& name) {
  return flatten(named_topology(name));
}

// Within this many conflicts, or nothing.
template <class Encoding>
std::optional<Schedule> solved(const Topology& topology, const Collective& collective, const Budget& budget,
                               const Restriction& restriction) {
  const Encoding encoding(topology, collective, budget,
                          {.symmetry = restriction.symmetry, .nearer = restriction.nearer});
  const auto solver = make_solver();
  solver->add(encoding.formula());
  if (solver->solve(encoding.assume(budget), {.conflicts = 500}) != Verdict::Sat) return std::nullopt;
  return encoding.decode(solver->model(encoding.formula().variables));
}

// Of copies: sends that do not bring their chunk nearer to its destination.
int strays(const Topology& topology, const Collective& collective, const Schedule& schedule) {
  int number = 0;
  for (const Step& step : schedule.steps)
    for (const Send& send : step.sends) {
      const std::vector<int> left = hops(reversed(topology), collective.chunks[send.chunk].post);
      const Link& link = topology.links[send.link];
      number += left[link.dst] >= left[link.src];
    }
  return number;
}

// Whatever is found under any restriction of any question is a schedule of the question, within its budget.
TEST(Restriction, ItsAnswersAreAnswers) {
  int answers = 0, together = 0, nearer = 0, symmetric = 0;
  for (const char* name : {"ring:4", "line:3", "hypercube:3", "dgx1", "mesh:2x3"})
    for (const char* what : {"broadcast", "scatter", "alltoall", "allgather", "reducescatter", "allreduce"})
      for (int chunks : {1, 4}) {
        const Topology asked_on = machine(name);
        const SolvedQuestion question(asked_on, make_collective(what, asked_on.ranks, chunks));
        for (const Restriction& restriction : restrictions(question.topology, question.collective)) {
          const Collective one = first_of(question.collective, restriction.together);
          ASSERT_EQ(one.chunks.size() * restriction.together, question.collective.chunks.size());
          const Budget each{.steps = 5, .rounds = 8};
          std::optional<Schedule> found =
              one.combining ? solved<ContributionEncoding>(question.topology, one, each, restriction)
                            : solved<StepRoundEncoding>(question.topology, one, each, restriction);
          if (!found) continue;
          EXPECT_EQ(restriction.nearer ? strays(question.topology, one, *found) : 0, 0)
              << name << " " << what;
          const Schedule all =
              repeated_for_all(question.topology, question.collective, restriction.together, *found);
          EXPECT_EQ(violations(question.topology, question.collective, all), std::vector<Fault>{});
          EXPECT_LE(all.steps.size(), 5U);
          EXPECT_LE(total_rounds(all), restriction.together * each.rounds);
          ++answers;
          together += restriction.together > 1;
          nearer += restriction.nearer;
          symmetric += !restriction.symmetry.empty();
        }
      }
  EXPECT_GT(answers, 100);
  EXPECT_GT(together, 20);
  EXPECT_GT(nearer, 20);
  EXPECT_GT(symmetric, 50);
}

TEST(Restriction, TheFirstOfEqualChunksAreTheCollectiveOfFewer) {
  for (const char* what : {"allgather", "alltoall", "broadcast", "allreduce"})
    for (int together : {1, 2, 3, 6}) {
      const Collective whole = make_collective(what, 4, 6), fewer = make_collective(what, 4, 6 / together);
      const Collective first = first_of(whole, together);
      EXPECT_EQ(first.chunks_per_block, fewer.chunks_per_block);
      ASSERT_EQ(first.chunks.size(), fewer.chunks.size());
      for (std::size_t c = 0; c < first.chunks.size(); ++c) {
        EXPECT_EQ(first.chunks[c].pre, fewer.chunks[c].pre);
        EXPECT_EQ(first.chunks[c].post, fewer.chunks[c].post);
      }
    }
}

// Questions that the full formula does not answer in minutes: each is regular in another way.
TEST(Restriction, FindsWhatTheFullFormulaDoesNot) {
  struct Case {
    const char* machine;
    const char* collective;
    int chunks;
    Budget budget;
    int conflicts;
    SumOrder order = {};
  };
  for (const Case& c :
       // Every link is full in every round; all symmetries of the machine at once.
       {Case{"dgx1", "allgather", 6, {.steps = 3, .rounds = 7}, 1000},
        // Recursive doubling over x and y in different orders: a group in which pairs are exchanged. Three
        // chunks in orders that ranks agree on are symmetric only under exchanges along both axes, which is
        // not among the groups.
        Case{"torus:4x4", "allreduce", 3, {.steps = 4, .rounds = 4}, 500, {.kind = SumOrder::Kind::Free}},
        Case{"torus:4x4", "allreduce", 2, {.steps = 4, .rounds = 4}, 500},
        // The links in the middle are full in every round; chunks only come nearer.
        Case{"mesh:4x4", "alltoall", 1, {.steps = 6, .rounds = 16}, 16000},
        // One chunk's schedule, three times over.
        Case{"hypercube:4", "alltoall", 3, {.steps = 4, .rounds = 24}, 2000}}) {
    const Topology topology = machine(c.machine);
    Collective collective = make_collective(c.collective, topology.ranks, c.chunks);
    collective.order = c.order;
    const Answer answer = synthesize(topology, collective, c.budget, {.limits = {.conflicts = c.conflicts}});
    EXPECT_EQ(answer.verdict, Verdict::Sat) << c.machine << " " << c.collective;
  }
}

// Only sums that end at one rank each are told backwards, and what is found for the dual is a schedule of the
// sum.
TEST(SolvedQuestion, TurnsSumsOfOneDestination) {
  const Topology ring = machine("ring:4");
  for (const char* what : {"reduce", "reducescatter"}) {
    const Collective asked = make_collective(what, 4, 2);
    const SolvedQuestion question(ring, asked);
    EXPECT_TRUE(question.is_reversed);
    EXPECT_FALSE(question.collective.combining);
    const auto found =
        solved<StepRoundEncoding>(question.topology, question.collective, {.steps = 3, .rounds = 6}, {});
    ASSERT_TRUE(found);
    EXPECT_EQ(violations(ring, asked, question.answer(*found)), std::vector<Fault>{});
  }
  for (const char* what : {"broadcast", "gather", "alltoall", "allgather", "allreduce"}) {
    const SolvedQuestion question(ring, make_collective(what, 4, 2));
    EXPECT_FALSE(question.is_reversed);
    EXPECT_EQ(question.collective, make_collective(what, 4, 2));
  }
}

}  // namespace
}  // namespace chorale
