// How much of what can be wrong with a program does the verifier see? Each mutant changes one instruction. A
// mutant that it lets pass must at least compute the right data when it is run.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "runtime/run.h"
#include "semantics/verify_program.h"
#include "tests/codegen/passes_alone.h"
#include "tests/codegen/schedules.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

struct Mutant {
  std::string kind = {};
  Program program = {};
};

struct Case {
  Topology topology = {};
  Collective collective = {};
  Schedule schedule = {};
};

// The slots that an instruction names: a sum in a slot names that slot once, and what is added to it.
Slot* source(Instruction& m) {
  return m.does.from.empty() ? nullptr : &m.does.from.back().slot;
}
void set_destination(Instruction& m, const Slot& slot) {
  if (adds(m.does)) m.does.from.front().slot = slot;
  m.does.to.front().slot = slot;
}

// Every change of one instruction that stays within what the types allow.
std::vector<Mutant> mutants(const Program& right) {
  std::vector<Mutant> all;
  const int ranks = static_cast<int>(right.ranks.size());
  for (Rank n = 0; n < ranks; ++n)
    for (std::size_t k = 0; k < right.ranks[n].blocks[0].instructions.size(); ++k) {
      Instruction i = right.ranks[n].blocks[0].instructions[k];
      const auto change = [&](const std::string& kind, auto edit) {
        all.push_back({.kind = kind, .program = right});
        std::vector<Instruction>& list = all.back().program.ranks[n].blocks[0].instructions;
        edit(list, list[k]);
      };
      using List = std::vector<Instruction>;
      change("dropped", [&](List& list, Instruction&) { list.erase(list.begin() + k); });
      change("doubled", [&](List& list, Instruction&) { list.insert(list.begin() + k, i); });
      change("step", [&](List&, Instruction& m) { m.step = (m.step + 1) % right.steps; });
      change("piece", [&](List&, Instruction& m) { ++m.does.piece; });
      if (k > 0 && is_local(right.ranks[n].blocks[0].instructions[k - 1].does))
        change("swapped", [&](List& list, Instruction&) { std::swap(list[k - 1], list[k]); });
      const bool reads = !i.does.takes, writes = !i.does.sends;
      const Slot dst = writes ? i.does.to.front().slot : Slot();
      for (int by : {-1, 1}) {
        if (reads) change("source off by one", [&](List&, Instruction& m) { source(m)->index += by; });
        if (writes)
          change("destination off by one",
                 [&](List&, Instruction& m) { set_destination(m, next_slot(dst, by)); });
      }
      if (reads)
        for (Buffer b : {Buffer::Input, Buffer::Output, Buffer::Scratch})
          if (b != source(i)->buffer)
            change("source buffer", [&](List&, Instruction& m) { source(m)->buffer = b; });
      if (writes)
        for (Buffer b : {Buffer::Input, Buffer::Output, Buffer::Scratch})
          if (b != dst.buffer)
            change("destination buffer", [&](List&, Instruction& m) { set_destination(m, {b, dst.index}); });
      if (is_local(i.does))
        change("opcode", [&](List&, Instruction& m) {
          if (adds(m.does))
            m.does.from.erase(m.does.from.begin());
          else
            m.does.from.insert(m.does.from.begin(), DataPlace{dst});
        });
      if (!is_local(i.does)) {
        for (Rank peer = 0; peer < ranks; ++peer)
          if (peer != i.peer) change("peer", [&](List&, Instruction& m) { m.peer = peer; });
        change("message", [&](List&, Instruction& m) { ++m.message; });
        change("turned", [](List&, Instruction& m) {
          std::swap(m.does.takes, m.does.sends);
          std::swap(m.does.from, m.does.to);
        });
      }
    }
  return all;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const Topology ring = test::ring(4), full = test::full(4);
  all.push_back({ring, make_collective("allgather", 4, 2), test::ring_allgather(4, 2)});
  all.push_back({ring, make_collective("reducescatter", 4, 2), test::ring_reducescatter(4, 2)});
  all.push_back({ring, make_collective("allreduce", 4, 4), test::ring_allreduce(4, 1)});
  all.push_back({full, make_collective("allreduce", 4, 2), test::recursive_doubling_allreduce(full, 2)});
  std::mt19937 random(1);
  for (const char* name : {"alltoall", "scatter", "allreduce_by_gather"}) {
    const Collective c = make_collective(name, 4, 2);
    all.push_back({ring, c, test::random_copies(ring, c, random)});
  }
  const Collective reduce = make_collective("reduce", 4, 2);
  all.push_back({ring, reduce, test::random_sums(ring, reduce, random)});
  return all;
}

void expect_nearly_all_killed(bool shared) {
  std::map<std::string, std::pair<int, int>> kinds;  // killed, of
  int killed = 0, total = 0;
  for (const Case& c : cases()) {
    const Program apart = lower(c.topology, c.collective, c.schedule);
    const Program right = shared ? in_place(c.topology, c.collective, apart) : apart;
    for (const Mutant& mutant : mutants(right)) {
      // In place these are two names of one slot.
      if (shared && (mutant.kind == "source buffer" || mutant.kind == "destination buffer")) continue;
      ++total, ++kinds[mutant.kind].second;
      if (!violations(c.topology, c.collective, mutant.program, 1).empty()) {
        ++killed, ++kinds[mutant.kind].first;
        continue;
      }
      const RunOptions options{
          .bytes = {4 * 29}, .types = {ElementType::Int32}, .iterations = 1, .warm_up = 0};
      EXPECT_EQ(run_on_threads(mutant.program, c.collective, options).at(0).wrong, 0)
          << mutant.kind << " in " << right.name << " passes the referee and is wrong";
    }
  }
  ::testing::Test::RecordProperty("mutants", total);
  ::testing::Test::RecordProperty("killed", killed);
  EXPECT_GT(total, 2000);
  // The others change nothing that matters: neighbours in another order, a copy done twice, the same value
  // taken from another slot or kept in another one.
  EXPECT_GE(killed, total * 95 / 100) << [&] {
    std::string table;
    for (const auto& [kind, count] : kinds)
      table += kind + ": " + std::to_string(count.first) + " of " + std::to_string(count.second) + "\n";
    return table;
  }();
}

TEST(ProgramMutationLong, TheVerifierKillsNearlyAll) {
  expect_nearly_all_killed(false);
}

TEST(ProgramMutationLong, TheVerifierKillsNearlyAllInPlace) {
  expect_nearly_all_killed(true);
}

}  // namespace
}  // namespace chorale
