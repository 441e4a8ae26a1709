// What programs look like; that they compute the right thing is reported by the verifier inside lower(),
// which has tests of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "construct/baselines/classic.h"
#include "ir/error.h"
#include "runtime/block_executor.h"
#include "runtime/peer_executor.h"
#include "runtime/run.h"
#include "semantics/verify_program.h"
#include "tests/codegen/passes_alone.h"
#include "tests/codegen/schedules.h"
#include "tests/kit/baselines.h"
#include "tests/kit/refusal.h"
#include "tests/semantics/machines.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> listing(const Program& program, Rank n) {
  std::vector<std::string> lines;
  for (const ThreadBlock& block : program.ranks[n].blocks)
    for (const Instruction& i : block.instructions)
      lines.push_back(std::to_string(i.step) + " " + to_string(i));
  return lines;
}

std::string error_of(const Topology& t, const Collective& c, const Schedule& s) {
  return test::refusal_of([&] { lower(t, c, s); }, "no error");
}

// A ring Allgather receives where the data belongs and sends it on from there; only the own block is copied.
TEST(Lower, RingAllgatherNeedsNoScratch) {
  const Program p = lower(test::ring(3), make_collective("allgather", 3, 1), test::ring_allgather(3, 1));
  EXPECT_EQ(p.steps, 2);
  EXPECT_THAT(listing(p, 1), ElementsAre("0 send input[0] to rank 2 (message 1)",        //
                                         "0 receive output[0] from rank 0 (message 0)",  //
                                         "1 send output[0] to rank 2 (message 3)",       //
                                         "1 receive output[2] from rank 0 (message 5)",  //
                                         "1 copy input[0] to output[1]"));
  for (const RankProgram& r : p.ranks) EXPECT_EQ(r.scratch_chunks, 0);
}

// A ring ReduceScatter adds its input to every sum that comes by. A sum that is received in step s leaves in
// step s+1, while the next one comes in: two scratch slots do, however long the ring. The last sum arrives
// where it belongs.
TEST(Lower, RingReduceScatterNeedsTwoScratchSlots) {
  const Program p =
      lower(test::ring(4), make_collective("reducescatter", 4, 1), test::ring_reducescatter(4, 1));
  EXPECT_THAT(listing(p, 0), ElementsAre("0 send input[3] to rank 1 (message 3)",         //
                                         "0 receive scratch[0] from rank 3 (message 2)",  //
                                         "0 reduce input[2] into scratch[0]",             //
                                         "1 send scratch[0] to rank 1 (message 6)",       //
                                         "1 receive scratch[1] from rank 3 (message 5)",  //
                                         "1 reduce input[1] into scratch[1]",             //
                                         "2 send scratch[1] to rank 1 (message 9)",       //
                                         "2 receive output[0] from rank 3 (message 8)",   //
                                         "2 reduce input[0] into output[0]"));
  const Program longer =
      lower(test::ring(9), make_collective("reducescatter", 9, 2), test::ring_reducescatter(9, 2));
  for (const RankProgram& r : longer.ranks) EXPECT_EQ(r.scratch_chunks, 2 * 2);
}

// Both partners send the sum that the other's is added to: from the second step on it must land elsewhere.
TEST(Lower, ASumThatIsBeingSentIsNotOverwritten) {
  const Topology t = test::full(4);
  const Program p = lower(t, make_collective("allreduce", 4, 1), test::recursive_doubling_allreduce(t, 1));
  EXPECT_THAT(listing(p, 0), ElementsAre("0 send input[0] to rank 1 (message 0)",         //
                                         "0 receive output[0] from rank 1 (message 1)",   //
                                         "0 reduce input[0] into output[0]",              //
                                         "1 send output[0] to rank 2 (message 4)",        //
                                         "1 receive scratch[0] from rank 2 (message 6)",  //
                                         "1 reduce scratch[0] into output[0]"));
}

// Floating-point sums depend on the order; here all ranks add in the order of the ranks.
TEST(Lower, GatheredContributionsAreAddedInOneOrder) {
  const Topology t = test::full(3);
  Schedule s{.steps = {Step{}}};
  for (LinkId l = 0; l < 6; ++l) s.steps[0].sends.push_back({.chunk = t.links[l].src, .link = l});
  const Program p = lower(t, make_collective("allreduce_by_gather", 3, 1), s);
  EXPECT_THAT(listing(p, 1), ElementsAre("0 send input[0] to rank 0 (message 2)",         //
                                         "0 send input[0] to rank 2 (message 3)",         //
                                         "0 receive output[0] from rank 0 (message 0)",   //
                                         "0 receive scratch[0] from rank 2 (message 5)",  //
                                         "0 reduce input[0] into output[0]",              //
                                         "0 reduce scratch[0] into output[0]"));
}

// 0 -> 1 -> 2 -> 3: what only passes by lies in a scratch slot, and both chunks in the same one in turn.
TEST(Lower, RelaysKeepWhatPassesByInScratch) {
  Collective c{.custom_name = "two letters", .ranks = 4};
  c.chunks = {{.pre = {0}, .post = {3}, .input = 0, .output = 0},
              {.pre = {0}, .post = {3}, .input = 1, .output = 1}};
  Schedule s;
  for (Chunk chunk : {0, 1})
    for (LinkId l : {0, 2, 4}) s.steps.push_back({.sends = {{.chunk = chunk, .link = l}}});
  const Program p = lower(test::ring(4), c, s);
  EXPECT_THAT(listing(p, 1), ElementsAre("0 receive scratch[0] from rank 0 (message 0)",  //
                                         "1 send scratch[0] to rank 2 (message 1)",       //
                                         "3 receive scratch[0] from rank 0 (message 3)",  //
                                         "4 send scratch[0] to rank 2 (message 4)"));
  EXPECT_EQ(p.ranks[1].scratch_chunks, 1);
  EXPECT_EQ(p.ranks[1].input_chunks, 0);
}

// Nothing is sent, but the result must be in the output.
TEST(Lower, OneRankCopies) {
  for (const std::string& name : collective_names()) {
    const Program p = lower(Topology{.ranks = 1}, make_collective(name, 1, 2), {});
    EXPECT_EQ(p.steps, 1) << name;
    EXPECT_THAT(listing(p, 0), ElementsAre("0 copy input[0] to output[0]", "0 copy input[1] to output[1]"));
  }
}

// lower() throws if its verifier finds anything.
TEST(Lower, EveryBaseline) {
  int lowered = 0;
  for (const ClassicEntry& entry : classic_catalogue())
    for (int ranks : {1, 2, 3, 4, 5, 8})
      for (int chunks : {1, 3}) {
        const Topology t = test::full(ranks);
        const std::optional<Point> point = test::baseline(entry.method, t, {.chunks = chunks});
        if (!point) continue;
        EXPECT_NO_THROW(lower(t, point->collective, point->schedule))
            << name_of(entry.method) << " " << ranks;
        ++lowered;
      }
  EXPECT_GE(lowered, 200);
}

TEST(Lower, RandomSchedules) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    for (const Topology& t : {test::ring(5), test::full(4)})
      for (int k : {1, 3}) {
        const Rank root = static_cast<Rank>(random() % t.ranks);
        for (const char* name :
             {"broadcast", "scatter", "gather", "allgather", "alltoall", "allreduce_by_gather"}) {
          const Collective c = make_collective(name, t.ranks, k, root);
          EXPECT_NO_THROW(lower(t, c, test::random_copies(t, c, random))) << name << " seed " << seed;
        }
        for (const char* name : {"reduce", "reducescatter"}) {
          const Collective c = make_collective(name, t.ranks, k, root);
          EXPECT_NO_THROW(lower(t, c, test::random_sums(t, c, random))) << name << " seed " << seed;
        }
        EXPECT_NO_THROW(lower(t, make_collective("allreduce", t.ranks, t.ranks * k),
                              test::random_allreduce(t, k, random)))
            << " seed " << seed;
      }
  }
}

// The options do not get in each other's way: each form of each combination does what the schedule does, on
// data.
TEST(Lower, AllOptionsTogether) {
  const Epilogue epilogue{.expression = parse_expression("x * 2 + index", {}, "")};
  const RunOptions run{.bytes = {8 * 7}, .types = {ElementType::Int32}, .iterations = 1, .warm_up = 0};
  int programs = 0, serialized = 0;
  for (const char* machine : {"hub:3", "ring:3"})
    for (const char* name :
         {"direct_allreduce", "ring_reducescatter", "direct_alltoall", "binomial_reduce"}) {
      const Topology t = flatten(named_topology(machine));
      Point point;
      try {
        point = classic_algorithm(name, t, {.chunks = 2});
      } catch (const InputError&) {
        continue;  // where ranks that talk are not linked
      }
      const Verified<Schedule> schedule = accepted(t, point.collective, point.schedule);
      for (int options = 0; options < 16; ++options) {
        LoweringOptions how{.name = "test",
                            .in_place = (options & 1) != 0,
                            .serialize_ports = (options & 2) != 0,
                            .reuse_scratch = (options & 4) != 0};
        if (options & 8) how.epilogue = epilogue;
        if (how.epilogue && !adds(point.collective)) {
          EXPECT_THROW(lower(schedule, how), InputError);
          continue;
        }
        const auto right = [&](const std::vector<RunRow>& rows) {
          for (const RunRow& row : rows) EXPECT_EQ(row.wrong, 0) << machine << " " << name << " " << options;
          ++programs;
        };
        const Verified<Program> program = lower(schedule, how);
        EXPECT_EQ(program->in_place, how.in_place);
        EXPECT_EQ(program.collective(), point.collective);
        right(run_on_threads(program, run));
        for (const bool pull : {false, true}) {
          how.peers.pull = pull;
          right(run_peers_on_threads(lower<PeerProgram>(schedule, how), run));
        }
        try {
          right(run_blocks_on_threads(lower<BlockProgram>(schedule, how), run, {.in_place = how.in_place}));
        } catch (const InputError& error) {  // of an Alltoall: queues put nothing aside
          EXPECT_TRUE(how.in_place);
          EXPECT_THAT(error.what(), HasSubstr("cannot be done in place"));
        }
        if (how.serialize_ports) {
          how.serialize_ports = false;
          const Verified<Program> at_once = lower(schedule, how);
          serialized += program->steps > at_once->steps;
          EXPECT_EQ(messages_of(*program).size(), messages_of(*at_once).size());
        }
      }
    }
  EXPECT_GT(programs, 260);
  EXPECT_GT(serialized, 8);
}

// Moves of one rank that store at another, or load from one; and all stores into own scratch.
struct Accesses {
  int stores = 0, loads = 0, kept = 0;
};
Accesses accesses_of(const PeerProgram& program) {
  Accesses found;
  for_each_instruction(program, [&](Rank n, int, int, const PeerInstruction& i) {
    if (i.opcode != PeerOpcode::Move) return;
    for (const DataPlace& to : i.does.to) {
      found.stores += to.rank != n;
      found.kept += to.rank == n && to.slot.buffer == Buffer::Scratch;
    }
    for (const DataPlace& from : i.does.from) found.loads += from.rank != n;
  });
  return found;
}

// Every one of 4 ranks owns a chunk: it loads three contributions, and three others load its sum, which it
// stores once; what they load of it are three chunks of its input. So 4 x (3 + 1) values are kept.
TEST(Lower, ReceiversLoadWhereTheyPull) {
  const Topology t = test::full(4);
  const Point point = classic_algorithm("direct_allreduce", t, {.chunks = 1});
  const Verified<Schedule> schedule = accepted(t, point.collective, point.schedule);
  const Accesses pushed = accesses_of(*lower<PeerProgram>(schedule)),
                 pulled = accesses_of(*lower<PeerProgram>(schedule, {.peers = {.pull = true}}));
  EXPECT_EQ(pushed.loads, 0);
  EXPECT_EQ(pushed.stores, 24);
  EXPECT_EQ(pulled.loads, 24);
  EXPECT_EQ(pulled.stores, 0);
  EXPECT_EQ(pulled.kept, 16);
}

// The verifier accepts whatever is pulled, in place or not, with one copy of scratch or two.
TEST(Lower, RandomSchedulesThatPull) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::mt19937 random(seed);
    for (const Topology& t : {test::ring(5), test::full(4)})
      for (int options = 0; options < 4; ++options) {
        const LoweringOptions how{.in_place = (options & 1) != 0,
                                  .peers = {.double_scratch = (options & 2) != 0, .pull = true}};
        const auto pulls = [&](const Collective& c, const Schedule& s) {
          const Verified<PeerProgram> program = lower<PeerProgram>(accepted(t, c, s), how);
          EXPECT_EQ(accesses_of(*program).stores, 0) << name_of(c) << " seed " << seed;
          EXPECT_GT(accesses_of(*program).loads, 0);
        };
        const Collective gather = make_collective("allgather", t.ranks, 2);
        pulls(gather, test::random_copies(t, gather, random));
        pulls(make_collective("allreduce", t.ranks, t.ranks), test::random_allreduce(t, 1, random));
      }
  }
}

// A relay that has nothing to add: rank 1 of 0 - 1 - 2 stands outside the group {0, 2}. And the copy that
// comes back overwrites the sum that rank 2 sends in that same step.
TEST(Lower, SumsThroughRanksOutsideTheGroup) {
  Collective c{.custom_name = "sum of the ends", .ranks = 3, .combining = true};
  c.chunks = {{.pre = {0, 2}, .post = {0, 2}}};
  Schedule s{.steps = {{.sends = {{.chunk = 0, .link = 0, .reduce = true}}},     // 0 -> 1
                       {.sends = {{.chunk = 0, .link = 2, .reduce = true}}},     // 1 -> 2: complete
                       {.sends = {{.chunk = 0, .link = 3, .reduce = false}}},    // 2 -> 1
                       {.sends = {{.chunk = 0, .link = 1, .reduce = false}}}}};  // 1 -> 0
  const Program p = lower(test::ring(3), c, s);
  EXPECT_THAT(listing(p, 1), ElementsAre("0 receive scratch[0] from rank 0 (message 0)",  //
                                         "1 send scratch[0] to rank 2 (message 1)",       //
                                         "2 receive scratch[0] from rank 2 (message 2)",  //
                                         "3 send scratch[0] to rank 0 (message 3)"));
}

// On 0 <-> 1: rank 1's sum is overwritten while it is still being sent to rank 2.
TEST(Lower, ACopyArrivesWhileTheOldValueLeaves) {
  Collective c{.custom_name = "reduce to 0 and 1", .ranks = 3, .combining = true};
  c.chunks = {{.pre = {0, 1}, .post = {0, 1}}};
  const Topology t = test::full(3);
  const LinkId to0 = find_link(t, 1, 0), to1 = find_link(t, 0, 1), to2 = find_link(t, 1, 2);
  const LinkId from2 = find_link(t, 2, 1);
  Schedule s{
      .steps = {{.sends = {{.chunk = 0, .link = to2}}},    // 2 has 1's part
                {.sends = {{.chunk = 0, .link = from2}}},  // 1 has its part back: now a value of its own
                {.sends = {{.chunk = 0, .link = to0, .reduce = true}}},  // 0 is complete
                {.sends = {{.chunk = 0, .link = to1}, {.chunk = 0, .link = to2}}}}};
  for (Step& step : s.steps) std::ranges::sort(step.sends);
  const Program p = lower(t, c, s);
  const std::vector<std::string> lines = listing(p, 1);
  EXPECT_THAT(std::vector<std::string>(lines.end() - 3, lines.end()),
              ElementsAre("3 send output[0] to rank 2 (message 4)",        //
                          "3 receive scratch[0] from rank 0 (message 3)",  //
                          "3 copy scratch[0] to output[0]"));
}

TEST(Lower, RefusesSchedulesThatDoNotPerformTheCollective) {
  const Collective c = make_collective("allgather", 4, 1);
  Schedule s = test::ring_allgather(4, 1);
  s.steps[2].sends.pop_back();
  EXPECT_THAT(error_of(test::ring(4), c, s), HasSubstr("rank 2 does not have chunk 3"));
  s.steps[2].sends.push_back({.chunk = 99, .link = 0});
  EXPECT_THAT(error_of(test::ring(4), c, s), HasSubstr("there is no chunk 99"));
}

// With three bytes in a block of two, piece 0 has two of them and piece 1 has one: it cannot become piece 0.
TEST(Lower, RefusesChunksThatChangeTheirLength) {
  Collective c{.custom_name = "swap", .ranks = 2, .chunks_per_block = 2};
  c.chunks = {{.pre = {0}, .post = {1}, .input = 1, .output = 0}};
  const Topology t = test::full(2);
  EXPECT_THAT(error_of(t, c, {.steps = {{.sends = {{.chunk = 0, .link = 0}}}}}),
              HasSubstr("piece 1 of its block in the input and piece 0 in the output"));
}

TEST(PieceBegin, LengthsDifferByAtMostOne) {
  for (std::int64_t elements : {0, 1, 2, 7, 12, 1009})
    for (int pieces : {1, 2, 3, 5, 12, 48}) {
      const Pieces cut{elements, pieces};
      EXPECT_EQ(cut.begin(0), 0);
      EXPECT_EQ(cut.begin(pieces), elements);
      for (int p = 0; p < pieces; ++p) {
        const std::int64_t length = cut.length(p);
        EXPECT_GE(length, elements / pieces);
        EXPECT_LE(length, (elements + pieces - 1) / pieces);
      }
    }
}

}  // namespace
}  // namespace chorale
