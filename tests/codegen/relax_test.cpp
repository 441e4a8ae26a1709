// Block programs: every algorithm that we have becomes one, the referee accepts it for every depth of queues,
// and it notices nearly every change.
#include "codegen/relax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "codegen/lower.h"
#include "ir/error.h"
#include "library/classic.h"
#include "pareto/search.h"
#include "semantics/verify_blocks.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

struct Subject {
  std::string name = {};
  Collective collective = {};
  Program program = {};
};

std::vector<Subject> subjects() {
  std::vector<Subject> result;
  const auto add = [&](const std::string& name, const Result& found) {
    for (const Point& point : found.points)
      result.push_back({name, point.collective, lower(found.topology, point.collective, point.schedule)});
  };
  for (const char* machine : {"ring:4", "dgx1", "full:4", "hypercube:3", "line:4"})
    for (const std::string& collective : collective_names()) {
      const Topology topology = flatten(named_topology(machine));
      add(std::string(machine) + " " + collective,
          search_frontier(topology, make_collective(collective, topology.ranks, 1),
                          {.min_chunks = 2, .max_chunks = 2}));
    }
  for (const ClassicEntry& entry : classic_catalogue())
    for (int ranks : {2, 4, 8}) {
      const Topology topology = named_topology("full:" + std::to_string(ranks));
      const Point point = classic_algorithm(entry.name, topology);
      result.push_back({entry.name, point.collective, lower(topology, point.collective, point.schedule)});
    }
  return result;
}

TEST(Relax, EveryAlgorithmBecomesABlockProgram) {
  int programs = 0;
  for (const Subject& s : subjects())
    for (int channels : {1, 2, 3})
      for (bool fuse : {false, true})
        for (bool merge : {false, true}) {
          const BlockProgram program =
              relax(s.collective, s.program, {.channels = channels, .fuse = fuse, .merge = merge});
          for (int depth : {1, 2, 4, 8}) {
            if (depth < program.queue_depth) continue;
            EXPECT_EQ(violations(s.collective, program, depth, false), std::vector<std::string>()) << s.name;
          }
          ++programs;
        }
  EXPECT_GT(programs, 500);
}

// Queues of depth 1 are enough for all of them, if receiving and sending on is not one instruction.
TEST(Relax, QueuesOfDepthOne) {
  for (const Subject& s : subjects()) {
    const BlockProgram program = relax(s.collective, s.program, {.queue_depth = 1});
    EXPECT_EQ(program.queue_depth, 1);
    EXPECT_EQ(violations(s.collective, program, 1, false), std::vector<std::string>()) << s.name;
  }
}

TEST(Relax, InPlaceWhereNcclHasIt) {
  int in_place = 0;
  for (const Subject& s : subjects()) {
    if (s.collective.name == "alltoall") continue;
    const BlockProgram program = relax(s.collective, s.program, {.in_place = true});
    EXPECT_EQ(violations(s.collective, program, program.queue_depth, true), std::vector<std::string>())
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
      for (const BlockInstruction& i : block.instructions) ++count[to_string(i.opcode)];
  EXPECT_EQ(count["rrs"] + count["rrcs"] + count["rcs"], count["s"] * 13);
  EXPECT_GT(count["rrs"], 0);
  EXPECT_EQ(count["cpy"] + count["re"], 0);
}

TEST(Relax, KeepsToALimitByMoreChannels) {
  const Topology topology = named_topology("full:8");
  const Point point = classic_algorithm("direct_alltoall", topology, {.chunks = 12});
  const Program program = lower(topology, point.collective, point.schedule);
  const BlockProgram limited = relax(point.collective, program, {.merge = false, .most_instructions = 5});
  int channels = 0;
  for (const BlockRank& rank : limited.ranks)
    for (const Block& block : rank.blocks) {
      EXPECT_LE(block.instructions.size(), 5U);
      channels = std::max(channels, block.channel + 1);
    }
  EXPECT_GT(channels, 1);
}

// What a mistake in a pass, or in somebody's file, would look like.
struct Mutant {
  std::string what = {};
  BlockProgram program = {};
};

std::vector<Mutant> mutants(const BlockProgram& program) {
  std::vector<Mutant> result;
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
        if (reads_src(instruction.opcode))
          change("off-by-one source", [&](Block& m) { ++m.instructions[i].src.index; });
        if (writes_dst(instruction.opcode))
          change("off-by-one destination", [&](Block& m) { ++m.instructions[i].dst.index; });
        change("dropped instruction", [&](Block& m) { m.instructions[i].opcode = BlockOpcode::Nop; });
        if (i + 1 < block.instructions.size())
          change("swapped instructions",
                 [&](Block& m) { std::swap(m.instructions[i], m.instructions[i + 1]); });
        if (instruction.opcode == BlockOpcode::RecvReduce)
          change("copied, not added", [&](Block& m) { m.instructions[i].opcode = BlockOpcode::Recv; });
        if (instruction.opcode == BlockOpcode::RecvReduceCopySend)
          change("not stored", [&](Block& m) { m.instructions[i].opcode = BlockOpcode::RecvReduceSend; });
        change("one chunk more", [&](Block& m) { ++m.instructions[i].count; });
      }
    }
  return result;
}

TEST(Relax, TheRefereeNoticesChanges) {
  std::mt19937 random(3);
  std::map<std::string, std::pair<int, int>> killed;  // of how many
  int all = 0, caught = 0;
  for (const Subject& s : subjects()) {
    const BlockProgram program = relax(s.collective, s.program);
    std::vector<Mutant> changed = mutants(program);
    std::shuffle(changed.begin(), changed.end(), random);
    if (changed.size() > 60) changed.resize(60);
    for (const Mutant& mutant : changed) {
      const bool noticed = !violations(s.collective, mutant.program, 8, false, 1).empty();
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

}  // namespace
}  // namespace chorale
