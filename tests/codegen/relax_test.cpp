// Block programs: every algorithm that we have becomes one, the verifier accepts it for every depth of
// queues, and it notices nearly every change.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "codegen/dot.h"
#include "codegen/msccl_xml.h"
#include "construct/baselines/classic.h"
#include "construct/incumbents.h"
#include "ir/error.h"
#include "semantics/verify_blocks.h"
#include "tests/codegen/passes_alone.h"
#include "tests/kit/baselines.h"
#include "tests/kit/refusal.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

struct Subject {
  std::string name = {};
  Topology topology = {};
  Collective collective = {};
  Program program = {};
};

std::vector<Subject> made_subjects() {
  std::vector<Subject> result;
  const auto add = [&](const std::string& name, const Topology& topology, const Point& point) {
    result.push_back({name, topology, point.collective, lower(topology, point.collective, point.schedule)});
  };
  for (const char* machine : {"ring:4", "dgx1", "full:4", "hypercube:3", "line:4"})
    for (const std::string& collective : collective_names()) {
      const Topology topology = flatten(named_topology(machine));
      for (const Point& point : incumbents(topology, make_collective(collective, topology.ranks, 2)))
        add(std::string(machine) + " " + collective, topology, point);
    }
  for (const ClassicEntry& entry : classic_catalogue())
    for (int ranks : {2, 4, 8}) {
      const Topology topology = named_topology("full:" + std::to_string(ranks));
      if (const std::optional<Point> point = test::baseline(entry.method, topology))
        add(name_of(entry.method), topology, *point);
    }
  return result;
}

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = made_subjects();
  return all;
}

TEST(Relax, EveryAlgorithmBecomesABlockProgram) {
  int programs = 0;
  for (const Subject& s : subjects())
    for (int channels : {1, 2, 3}) {
      const BlockProgram program = relax(s.collective, s.program, {.channels = channels});
      for (int depth : {1, 2, 4, 8}) {
        if (depth < program.queue_depth) continue;
        EXPECT_EQ(violations(s.collective, program, {.depth = depth}), std::vector<Fault>()) << s.name;
      }
      ++programs;
    }
  EXPECT_GT(programs, 125);
}

// Queues of depth 1 are enough for all of them, if receiving and sending on is not one instruction.
TEST(Relax, QueuesOfDepthOne) {
  for (const Subject& s : subjects()) {
    const BlockProgram program = relax(s.collective, s.program, {.queue_depth = 1});
    EXPECT_EQ(program.queue_depth, 1);
    EXPECT_EQ(violations(s.collective, program, {.depth = 1}), std::vector<Fault>()) << s.name;
  }
}

TEST(Relax, InPlaceWhereNcclHasIt) {
  int in_place = 0;
  for (const Subject& s : subjects()) {
    if (s.collective.kind == CollectiveKind::Alltoall) continue;
    const BlockProgram program = relax(s.collective, s.program, {.in_place = true});
    EXPECT_EQ(violations(s.collective, program, {.depth = program.queue_depth, .in_place = true}),
              std::vector<Fault>())
        << s.name;
    ++in_place;
  }
  EXPECT_GT(in_place, 50);
}

// A ring hands every chunk on: of its 2(n-1) messages a chunk, all but the first and last leave as they come.
TEST(Relax, ARingIsFused) {
  const Topology topology = named_topology("ring:8");
  const Point point = classic_algorithm("ring_allreduce", topology, {.chunks = 1});
  const BlockProgram program = relax(point.collective, lower(topology, point.collective, point.schedule));
  std::map<std::string, int> count;
  for (const BlockRank& rank : program.ranks)
    for (const Block& block : rank.blocks)
      for (const BlockInstruction& i : block.instructions) ++count[name_of(i)];
  EXPECT_EQ(count["rrs"] + count["rrcs"] + count["rcs"], count["s"] * 13);
  EXPECT_GT(count["rrs"], 0);
  EXPECT_EQ(count["cpy"] + count["re"], 0);
}

TEST(Relax, KeepsToALimitByMoreChannels) {
  const Topology topology = named_topology("ring:8");
  const Point point = classic_algorithm("ring_allgather", topology);
  const Program program = lower(topology, point.collective, point.schedule);
  const BlockProgram limited = relax(point.collective, program, {.most_instructions = 5});
  int channels = 0;
  for (const BlockRank& rank : limited.ranks)
    for (const Block& block : rank.blocks) {
      EXPECT_LE(block.instructions.size(), 5U);
      channels = std::max(channels, block.channel + 1);
    }
  EXPECT_GT(channels, 1);
}

// What a mistake in a pass, or in another's file, would look like.
struct BlockMutant {
  std::string what = {};
  BlockProgram program = {};
};

std::vector<BlockMutant> mutants(const BlockProgram& program) {
  std::vector<BlockMutant> result;
  for (std::size_t n = 0; n < program.ranks.size(); ++n)
    for (std::size_t b = 0; b < program.ranks[n].blocks.size(); ++b) {
      const Block& block = program.ranks[n].blocks[b];
      const auto change = [&](const std::string& what, auto edit) {
        result.push_back({what, program});
        edit(result.back().program.ranks[n].blocks[b]);
      };
      const int ranks = static_cast<int>(program.ranks.size());
      if (block.send_to >= 0 && program.ranks.size() > 2)
        change("swapped peer", [&](Block& m) {
          do m.send_to = (m.send_to + 1) % ranks;
          while (m.send_to == static_cast<int>(n));
        });
      for (std::size_t i = 0; i < block.instructions.size(); ++i) {
        const BlockInstruction& instruction = block.instructions[i];
        for (std::size_t d = 0; d < instruction.after.size(); ++d)
          change("dropped dependency", [&](Block& m) {
            m.instructions[i].after.erase(m.instructions[i].after.begin() + static_cast<std::ptrdiff_t>(d));
          });
        const DataOperation& does = instruction.does;
        if (!does.from.empty())
          change("off-by-one source", [&](Block& m) { ++m.instructions[i].does.from.back().slot.index; });
        if (!does.to.empty())
          change("off-by-one destination", [&](Block& m) {
            DataOperation& changed = m.instructions[i].does;
            if (does.from.size() == 2) ++changed.from.front().slot.index;
            ++changed.to.front().slot.index;
          });
        change("dropped instruction", [&](Block& m) { m.instructions[i].does = {}; });
        if (i + 1 < block.instructions.size())
          change("swapped instructions",
                 [&](Block& m) { std::swap(m.instructions[i], m.instructions[i + 1]); });
        if (name_of(instruction) == "rrc")
          change("copied, not added", [&](Block& m) { m.instructions[i].does.from.clear(); });
        if (name_of(instruction) == "rrcs")
          change("not stored", [&](Block& m) { m.instructions[i].does.to.clear(); });
        change("one chunk more", [&](Block& m) { ++m.instructions[i].does.count; });
      }
    }
  return result;
}

TEST(RelaxLong, TheVerifierNoticesChanges) {
  std::mt19937 random(3);
  std::map<std::string, std::pair<int, int>> killed;  // of how many
  int all = 0, caught = 0;
  for (const Subject& s : subjects()) {
    const BlockProgram program = relax(s.collective, s.program);
    std::vector<BlockMutant> changed = mutants(program);
    std::shuffle(changed.begin(), changed.end(), random);
    if (changed.size() > 60) changed.resize(60);
    for (const BlockMutant& mutant : changed) {
      const bool noticed = !violations(s.collective, mutant.program, {.depth = 8}, 1).empty();
      ++all;
      caught += noticed;
      killed[mutant.what].first += noticed;
      ++killed[mutant.what].second;
    }
  }
  for (const auto& [what, count] : killed) {
    RecordProperty(what, count.first * 1000 / count.second);
    // Instructions of a block that are about different chunks may change places.
    if (what != "swapped instructions") {
      EXPECT_GE(count.first * 100, count.second * 95)
          << what << ": " << count.first << " of " << count.second;
    }
  }
  EXPECT_GT(all, 2000);
  EXPECT_GE(caught * 100, all * 95) << caught << " of " << all;
}

// --- Barriers and epilogues.

void insert(BlockRank& rank, int block, int at, const BlockInstruction& i) {
  std::vector<BlockInstruction>& list = rank.blocks[block].instructions;
  list.insert(list.begin() + at, i);
  for (Block& each : rank.blocks)
    for (BlockInstruction& other : each.instructions)
      for (BlockReference& before : other.after)
        if (before.block == block && before.instruction >= at) ++before.instruction;
}

// Blocks meet where one waited for the other, as far as that does not make others wait forever. The side that
// waited is marked by a count, which barriers do not use.
constexpr int kWaited = 2;
BlockProgram with_barriers(const Collective& collective, BlockProgram program) {
  int number = 0;
  for (BlockRank& rank : program.ranks)
    for (int b = 0; b < static_cast<int>(rank.blocks.size()); ++b)
      for (int i = 0; i < static_cast<int>(rank.blocks[b].instructions.size()); ++i) {
        BlockInstruction& waits = rank.blocks[b].instructions[i];
        if (waits.after.size() != 1) continue;
        const BlockRank saved = rank;
        const BlockReference before = waits.after.front();
        waits.after.clear();
        insert(rank, before.block, before.instruction + 1, {.barrier = number});
        insert(rank, b, i, {.does = {.count = kWaited}, .barrier = number});
        ++number;
        if (violations(collective, program, {.depth = program.queue_depth}, 1).empty())
          ++i;
        else
          rank = saved;
      }
  return program;
}

std::vector<BlockMutant> barrier_mutants(const BlockProgram& program) {
  std::vector<BlockMutant> result;
  for (std::size_t n = 0; n < program.ranks.size(); ++n)
    for (int b = 0; b < static_cast<int>(program.ranks[n].blocks.size()); ++b) {
      const std::vector<BlockInstruction>& list = program.ranks[n].blocks[b].instructions;
      for (int i = 0; i < static_cast<int>(list.size()); ++i) {
        if (list[i].barrier < 0) continue;
        const auto change = [&](const std::string& what, auto edit) {
          result.push_back({what, program});
          edit(result.back().program.ranks[n].blocks[b].instructions);
        };
        using List = std::vector<BlockInstruction>;
        change("dropped barrier", [&](List& m) { m[i] = {}; });
        change("number of another", [&](List& m) { m[i].barrier = (m[i].barrier + 1) % 1000; });
        // After what must wait for it; before what it is there to wait for.
        const int other = list[i].does.count == kWaited ? i + 1 : i - 1;
        if (list[other].barrier < 0) change("barrier elsewhere", [&](List& m) { std::swap(m[i], m[other]); });
      }
    }
  return result;
}

// Of each kind at least this many of 100.
void expect_killed(const std::vector<std::pair<Collective, BlockMutant>>& all, int least, int percent = 95) {
  std::map<std::string, std::pair<int, int>> killed;  // of how many
  for (const auto& [collective, mutant] : all) {
    killed[mutant.what].first += !violations(collective, mutant.program, {.depth = 8}, 1).empty();
    ++killed[mutant.what].second;
  }
  EXPECT_GT(static_cast<int>(all.size()), least);
  for (const auto& [what, count] : killed) {
    ::testing::Test::RecordProperty(what,
                                    std::to_string(count.first) + " of " + std::to_string(count.second));
    EXPECT_GE(count.first * 100, count.second * percent)
        << what << ": " << count.first << " of " << count.second;
  }
}

TEST(Barriers, TakeThePlaceOfDependencies) {
  std::vector<std::pair<Collective, BlockMutant>> changed;
  for (const Subject& s : subjects()) {
    if (s.collective.ranks > 4) continue;  // each insertion is verified
    const BlockProgram program = with_barriers(s.collective, relax(s.collective, s.program));
    EXPECT_EQ(violations(s.collective, program, {.depth = program.queue_depth}), std::vector<Fault>());
    const std::string text = to_json(s.collective, program);
    const BlockProgramFile file = block_program_from_json(text, "test");
    EXPECT_EQ(to_json(file.collective, file.program), text);
    for (BlockMutant& mutant : barrier_mutants(program)) changed.push_back({s.collective, std::move(mutant)});
  }
  expect_killed(changed, 300);
}

TEST(Barriers, TwoBlocksThatMeetInAnotherOrderHang) {
  const auto bar = [](int number) { return BlockInstruction{.barrier = number}; };
  const Collective c = make_collective("allgather", 1, 1);
  const auto program = [&](int first, int second) {
    const BlockInstruction copy{.does = copying({Buffer::Input, 0}, {Buffer::Output, 0})};
    return BlockProgram{.collective = CollectiveKind::Allgather,
                        .ranks = {{.input_chunks = 1,
                                   .output_chunks = 1,
                                   .blocks = {{.instructions = {bar(1), copy, bar(2)}},
                                              {.instructions = {bar(first), bar(second)}}}}}};
  };
  EXPECT_EQ(violations(c, program(1, 2), {.depth = 1}), std::vector<Fault>());
  const auto faults = violations(c, program(2, 1), {.depth = 1});
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].kind, Fault::Kind::Deadlock);
  EXPECT_EQ(faults[0].words,
            "rank 0, block 0, instruction 0 (bar 1) waits forever for block 1 at barrier 1, with queues of "
            "depth 1");
  EXPECT_EQ(violations(c, program(1, 1), {.depth = 1}).front().words, "rank 0: block 1 has barrier 1 twice");
  EXPECT_EQ(violations(c, program(1, 3), {.depth = 1}).front().words,
            "rank 0: no other block has barrier 2 of block 0");
}

// The function alone, on a slot and those after it.
BlockInstruction applying(const Slot& slot, const DataOperation& like) {
  DataOperation op = copying(slot, slot, like.piece);
  op.count = like.count;
  op.position = like.position;
  return {.does = op};
}

std::vector<BlockMutant> epilogue_mutants(const BlockProgram& program) {
  std::vector<BlockMutant> result;
  for (std::size_t n = 0; n < program.ranks.size(); ++n)
    for (int b = 0; b < static_cast<int>(program.ranks[n].blocks.size()); ++b) {
      const std::vector<BlockInstruction>& list = program.ranks[n].blocks[b].instructions;
      for (int i = 0; i < static_cast<int>(list.size()); ++i) {
        const DataOperation& op = list[i].does;
        if (!applies(op)) continue;
        // Without the function; `edit` may put it elsewhere.
        const auto change = [&](const std::string& what, auto edit) {
          result.push_back({what, program});
          BlockRank& rank = result.back().program.ranks[n];
          rank.blocks[b].instructions[i].does.position = -1;
          edit(rank, rank.blocks[b].instructions[i].does);
        };
        const auto here = [&](BlockRank& rank, int at, const BlockInstruction& i) { insert(rank, b, at, i); };
        change("dropped epilogue", [&](BlockRank&, DataOperation&) {});
        // Without its only one a program is another one, which does no more than the collective.
        if (!has_epilogue(result.back().program)) result.pop_back();
        change("another position", [&](BlockRank&, DataOperation& m) { m.position = op.position + 1; });
        if (op.takes && !op.from.empty())
          change("before the sum is complete",
                 [&](BlockRank& rank, DataOperation&) { here(rank, i, applying(op.from.back().slot, op)); });
        if (op.to.empty()) continue;
        const Slot slot = op.to.front().slot;
        change("second epilogue", [&](BlockRank& rank, DataOperation& m) {
          m.position = op.position;
          here(rank, i + 1, applying(slot, op));
        });
        change("another slot",
               [&](BlockRank& rank, DataOperation&) { here(rank, i + 1, applying(next_slot(slot, 1), op)); });
        if (op.count > 1)
          change("one chunk less", [&](BlockRank& rank, DataOperation&) {
            BlockInstruction less = applying(slot, op);
            --less.does.count;
            here(rank, i + 1, less);
          });
        if (op.sends)
          change("after it was sent",
                 [&](BlockRank& rank, DataOperation&) { here(rank, i + 1, applying(slot, op)); });
        if (i + 1 < static_cast<int>(list.size()) && list[i + 1].does.sends &&
            !list[i + 1].does.from.empty() && list[i + 1].does.from.front().slot == slot)
          change("after it was sent",
                 [&](BlockRank& rank, DataOperation&) { here(rank, i + 2, applying(slot, op)); });
      }
    }
  return result;
}

TEST(Epilogue, FollowsEverySumAndTheVerifierSeesChanges) {
  std::vector<std::pair<Collective, BlockMutant>> changed;
  int programs = 0;
  for (const Subject& s : subjects()) {
    if (!adds(s.collective)) {
      EXPECT_THROW(with_epilogue(s.topology, s.collective, s.program), InputError);
      continue;
    }
    const Program steps = with_epilogue(s.topology, s.collective, s.program);
    const BlockProgram with = relax(s.collective, steps);
    EXPECT_EQ(block_program_from_json(to_json(s.collective, with), "test").program, with);
    ++programs;
    std::vector<BlockMutant> all = epilogue_mutants(with);
    if (all.size() > 100) all.resize(100);
    for (BlockMutant& mutant : all) changed.push_back({s.collective, std::move(mutant)});
    relax(s.collective, steps, {.in_place = true});
  }
  EXPECT_GT(programs, 25);
  expect_killed(changed, 1000, 100);
}

// By whom a chunk is completed decides whether a function may keep state with it: around a ring, by direct
// sums and by halving by one rank; by doubling, where all add all, by each.
TEST(Epilogue, CompletionPoints) {
  const std::map<std::string, std::size_t> points = {{"ring_allreduce", 1},
                                                     {"direct_allreduce", 1},
                                                     {"halving_doubling_allreduce", 1},
                                                     {"tree_allreduce", 1},
                                                     {"ring_reducescatter", 1},
                                                     {"binomial_reduce", 1},
                                                     {"recursive_doubling_allreduce", 8},
                                                     {"one_shot_allreduce", 8}};
  const Topology topology = named_topology("full:8");
  for (const auto& [name, count] : points) {
    const Point point = classic_algorithm(name, topology);
    const Verified<Schedule> schedule = accepted(topology, point.collective, point.schedule);
    const LoweringOptions how{.epilogue = Epilogue{}};
    const auto found = completion_points(*lower(schedule, how));
    EXPECT_FALSE(found.empty());
    for (const auto& [position, ranks] : found) EXPECT_EQ(ranks.size(), count) << name << " " << position;
    // They are the verifier's, and the same whatever waits for what.
    std::map<int, std::set<Rank>> completed;
    for (const Completion& each : completions(topology, point.collective, *lower(schedule)))
      completed[each.position].insert(each.rank);
    EXPECT_EQ(found, completed) << name;
    EXPECT_EQ(found, completion_points(*lower<BlockProgram>(schedule, how))) << name;
    EXPECT_EQ(found, completion_points(*lower<PeerProgram>(schedule, how))) << name;
  }
}

TEST(Printers, OfBarriersAndEpilogues) {
  const Topology topology = named_topology("ring:4");
  const Point point = classic_algorithm("ring_allreduce", topology, {.chunks = 1});
  const BlockProgram program =
      relax(point.collective,
            with_epilogue(topology, point.collective, lower(topology, point.collective, point.schedule)));
  EXPECT_NE(to_dot(program).find(" as 3"), std::string::npos);
  EXPECT_NE(test::refusal_of([&] {
              to_msccl_xml(unverified(program, point.collective));
            }).find("MSCCL XML has no step that applies a function"),
            std::string::npos);
  BlockProgram barrier = program;
  for (BlockRank& rank : barrier.ranks) rank.blocks = {{.instructions = {{.barrier = 0}}}};
  EXPECT_THROW(to_msccl_xml(unverified(barrier, point.collective)), InputError);
  EXPECT_NE(to_dot(barrier).find("bar 0"), std::string::npos);
}

}  // namespace
}  // namespace chorale
