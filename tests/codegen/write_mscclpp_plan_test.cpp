// What peer programs become as plans of MSCCL++: read back, they are the same programs, and what a plan
// cannot state is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/mscclpp/plan.h"
#include "codegen/mscclpp/read_plan.h"
#include "codegen/mscclpp/write_plan.h"
#include "tests/codegen/passes_alone.h"
#include "tests/codegen/schedules.h"
#include "tests/codegen/switched.h"
#include "tests/faults.h"
#include "tests/kit/refusal.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

using test::Kind;
using test::says;
using ::testing::HasSubstr;
using ::testing::Optional;

// A block of more than this many instructions is too much.
auto at_most(std::size_t instructions) {
  return [=](const PeerProgram& lane) -> std::optional<Fault> {
    for (Rank n = 0; n < static_cast<int>(lane.ranks.size()); ++n)
      if (lane.ranks[n].blocks[0].instructions.size() > instructions)
        return Fault{.kind = Kind::Limit, .place = {.rank = n}, .words = "a longer block"};
    return std::nullopt;
  };
}

bool has_operation(Rank n, const DataOperation& op) {
  return mscclpp::shape_for(n, op) != nullptr;
}

PeerProgram read_back(const PeerProgram& program) {
  mscclpp::WrittenPlan plan = mscclpp::plan_of(program);
  EXPECT_EQ(plan.fault, std::nullopt);
  return mscclpp_from_json(mscclpp::to_json({.name = program.name,
                                             .collective = name_of(program.collective),
                                             .in_place = program.in_place,
                                             .gpus = std::move(plan.gpus)}),
                           "ours", 1000)
      .program;
}

// Without what a plan does not state: numbers of counters, what a signal is about, waits for less right
// before one for more.
PeerProgram plain(PeerProgram program) {
  std::map<std::pair<Rank, int>, int> numbers;
  std::vector<int> next(program.ranks.size(), 0);
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n)
    for (PeerBlock& block : program.ranks[n].blocks) {
      std::vector<PeerInstruction> kept;
      for (PeerInstruction i : block.instructions) {
        if (i.opcode == PeerOpcode::Signal) i.does = {};
        if (i.opcode == PeerOpcode::Wait || i.opcode == PeerOpcode::Signal) {
          const Rank owner = i.opcode == PeerOpcode::Wait ? n : i.rank;
          const auto [at, added] = numbers.try_emplace({owner, i.counter}, next[owner]);
          if (added) ++next[owner];
          i.counter = at->second;
        }
        if (i.opcode == PeerOpcode::Wait) {
          auto first = kept.end();
          while (first != kept.begin() && std::prev(first)->opcode == PeerOpcode::Wait) --first;
          kept.erase(
              std::remove_if(first, kept.end(),
                             [&](const PeerInstruction& before) { return before.counter == i.counter; }),
              kept.end());
        }
        kept.push_back(std::move(i));
      }
      block.instructions = std::move(kept);
    }
  return program;
}

TEST(WriteMscclppPlan, what_is_written_is_read_back_as_it_was) {
  int programs = 0;
  std::size_t most_blocks = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    const Topology topology = seed % 2 ? test::ring(3 + seed / 2) : test::full(3 + seed / 2);
    const Collective collective = make_collective("allreduce", topology.ranks, topology.ranks * 2);
    const Program apart =
        lower(topology, collective, test::random_allreduce(topology, 2, random), seed % 3 == 0);
    for (const Program& steps : {apart, in_place(topology, collective, apart)})
      for (int options = 0; options < 4; ++options) {
        const PeerProgram program = to_peers(collective, steps,
                                             {.double_scratch = false,
                                              .shared_counters = true,
                                              .by_steps = (options & 1) != 0,
                                              .has = has_operation,
                                              .excess = options & 2 ? at_most(45) : at_most(1000),
                                              .most_blocks = 64});
        EXPECT_EQ(plain(read_back(program)), plain(program)) << "seed " << seed << ", options " << options;
        most_blocks = std::max(most_blocks, program.ranks[0].blocks.size());
        ++programs;
      }
  }
  EXPECT_EQ(programs, 32);
  EXPECT_GT(most_blocks, 1u);
}

// One rank stores to the other, and tells it so.
PeerProgram one_message() {
  PeerProgram program{.name = "test", .collective = CollectiveKind::Broadcast};
  program.ranks = {
      {.input_chunks = 1,
       .output_chunks = 1,
       .scratch_chunks = 1,
       .blocks = {{{{.opcode = PeerOpcode::Move,
                     .does = {.from = {{{Buffer::Input, 0}, 0}}, .to = {{{Buffer::Scratch, 0}, 1}}}},
                    {},
                    {.opcode = PeerOpcode::Signal, .rank = 1, .counter = 0}}}}},
      {.output_chunks = 1,
       .scratch_chunks = 1,
       .counters = 1,
       .blocks = {{{{.opcode = PeerOpcode::Wait, .counter = 0},
                    {},
                    {.opcode = PeerOpcode::Move,
                     .does = {.from = {{{Buffer::Scratch, 0}, 1}}, .to = {{{Buffer::Output, 0}, 1}}}}}}}}};
  return program;
}

PeerInstruction& instruction(PeerProgram& program, Rank n, int i) {
  return program.ranks[n].blocks[0].instructions[i];
}

TEST(WriteMscclppPlan, what_a_plan_cannot_say_is_refused) {
  EXPECT_EQ(mscclpp::plan_of(one_message()).fault, std::nullopt);
  const auto refused = [](auto change) {
    PeerProgram program = one_message();
    change(program);
    return mscclpp::plan_of(program).fault;
  };
  EXPECT_THAT(refused([](PeerProgram& p) { p.double_scratch = true; }),
              Optional(says(Kind::Limit, "two halves of scratch")));
  EXPECT_THAT(
      refused([](PeerProgram& p) { instruction(p, 1, 0).lag = 1; }),
      Optional(says(Kind::Limit, "rank 1, block 0: wait for counter 0 to be 1 since the last launch: ")));
  EXPECT_THAT(refused([](PeerProgram& p) { instruction(p, 0, 0).does.position = 0; }),
              Optional(says(Kind::Limit, "no such operation")));
  // Two stores to peers of what is not kept at home.
  EXPECT_THAT(refused([](PeerProgram& p) {
                instruction(p, 0, 0).does.to.push_back({{Buffer::Output, 0}, 1});
              }),
              Optional(says(Kind::Limit, "no such operation")));
  EXPECT_THAT(refused([](PeerProgram& p) {
                p.ranks[0].counters = 1;
                instruction(p, 0, 2).rank = 0;
                instruction(p, 1, 0) = {};
              }),
              Optional(says(Kind::Limit, "between ranks alone")));
}

TEST(WriteMscclppPlan, moves_have_the_operations_that_the_executor_has) {
  const DataPlace home{{Buffer::Output, 0}, 0}, other{{Buffer::Scratch, 1}, 0}, far{{Buffer::Scratch, 2}, 1};
  const auto name = [](const DataOperation& op) {
    const mscclpp::Shape* shape = mscclpp::shape_for(0, op);
    return shape == nullptr ? std::string() : shape->name;
  };
  EXPECT_EQ(name({.from = {other}, .to = {home}}), "copy");
  EXPECT_EQ(name({.from = {other}, .to = {far}}), "put");
  EXPECT_EQ(name({.from = {other, home}, .to = {home}}), "re");
  EXPECT_EQ(name({.from = {other, home}, .to = {home, far, far}}), "res");
  EXPECT_EQ(name({.from = {home, far}, .to = {home}}), "rre");
  EXPECT_EQ(name({.from = {home, far}, .to = {home, far}}), "rres");
  EXPECT_EQ(name({.from = {other, home}, .to = {far}}), "");        // the result must be kept at home
  EXPECT_EQ(name({.from = {far, home}, .to = {home}}), "");         // what lies at home is the first operand
  EXPECT_EQ(name({.from = {home, other, far}, .to = {home}}), "");  // and the only one, where others are far
}

std::string plan_of(const Verified<Schedule>& schedule, int most_operations) {
  const MscclppOptions limits{.most_operations = most_operations};
  return to_mscclpp_plan(
      lower<PeerProgram>(schedule, {.reuse_scratch = false, .peers = peers_for_mscclpp(limits)}), limits);
}

std::string refusal(const Verified<Schedule>& schedule, int most_operations) {
  return test::refusal_of([&] { plan_of(schedule, most_operations); });
}

// The chunks of a ring AllReduce have nothing to do with each other, so they go into as many blocks as it
// takes.
TEST(WriteMscclppPlan, blocks_have_as_many_operations_as_there_is_room_for) {
  const Topology ring = test::ring(4);
  const Collective collective = make_collective("allreduce", 4, 4);
  const Verified<Schedule> schedule = accepted(ring, collective, test::ring_allreduce(4, 1));
  for (const auto& [most, blocks] : std::map<int, std::size_t>{{200, 1}, {24, 2}, {16, 4}}) {
    const MscclppFile file = mscclpp_from_json(plan_of(schedule, most), "ours", most);
    for (const PeerRank& rank : file.program.ranks) EXPECT_EQ(rank.blocks.size(), blocks) << most;
  }
  EXPECT_THAT(refusal(schedule, 8),
              HasSubstr("chunks that belong together need a thread block with 11 operations, where executors "
                        "have room for 8"));
}

// In one step, from all that have a chunk to all that need it.
Schedule direct(const Topology& topology, const Collective& collective) {
  Step step{.rounds = static_cast<int>(collective.chunks.size())};
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c)
    for (const Rank from : collective.chunks[c].pre)
      for (const Rank to : collective.chunks[c].post)
        if (from != to)
          step.sends.push_back(
              {.chunk = c, .link = find_link(topology, from, to), .reduce = is_combining(collective.kind)});
  std::ranges::sort(step.sends);
  return {.steps = {step}};
}

// The executor's loader divides by both numbers of every rank. Who is the root is in the file.
TEST(WriteMscclppPlan, every_rank_has_both_buffers) {
  const Topology full = test::full(3);
  for (const std::string name : {"broadcast", "scatter", "gather", "reduce"})
    for (const Rank root : {0, 2})
      for (const bool in_place : {false, true}) {
        const Collective collective = make_collective(name, 3, 2, root);
        const Verified<PeerProgram> program = lower<PeerProgram>(
            accepted(full, collective, direct(full, collective)),
            {.in_place = in_place, .reuse_scratch = false, .peers = peers_for_mscclpp({})});
        const std::string text = to_mscclpp_plan(program, {});
        MscclppFile file = mscclpp_from_json(text, "ours");
        EXPECT_EQ(file.collective.root, root) << name;
        EXPECT_TRUE(file.program.name.starts_with(program->name + ", plan ")) << file.program.name;
        file.program.name = program->name;
        EXPECT_EQ(plain(file.program), plain(*program)) << name;
        const nlohmann::json plan = nlohmann::json::parse(text);
        for (const nlohmann::json& gpu : plan["gpus"]) {
          EXPECT_EQ(gpu["input_chunks"], name == "scatter" ? 6 : 2) << name;
          EXPECT_EQ(gpu["output_chunks"], name == "gather" ? 6 : 2) << name;
        }
      }
}

// Each rank in an order of its own, where that is allowed: a plan does not state it.
TEST(WriteMscclppPlan, ranks_may_add_in_orders_of_their_own) {
  for (const Verified<Schedule>& schedule : test::able_schedules(
           test::with_able_switches("hub:5"), "allreduce", 1, {.kind = SumOrder::Kind::Free}))
    EXPECT_NE(plan_of(schedule, 64), "");
}

// A sum that goes on to its team is a glres, copies are a gstore; a sum that stays at its rank has no
// operation and is made of messages. What is written is read back, and runs on threads.
TEST(WriteMscclppPlan, switches_add_and_store) {
  const RunOptions options{
      .bytes = {4 * 8 * 7}, .types = {ElementType::Float32}, .iterations = 2, .warm_up = 0};
  const auto count = [](const std::string& text, const std::string& name) {
    int found = 0;
    for (std::size_t at = 0; (at = text.find("\"" + name + "\"", at)) != std::string::npos; ++at) ++found;
    return found;
  };
  for (const char* machine : {"hub:3", "hub:4", "hub:8", "dgx-h100:1"}) {
    const Topology topology = test::with_able_switches(machine);
    for (const char* kind : {"allreduce", "allgather", "reducescatter", "broadcast"})
      for (const bool in_place : {false, true}) {
        const Verified<Schedule> schedule = test::able_schedules(topology, kind, 2).back();
        const Verified<PeerProgram> program = lower<PeerProgram>(
            schedule, {.in_place = in_place, .reuse_scratch = false, .peers = peers_for_mscclpp({})});
        const std::string text = to_mscclpp_plan(program, {});
        const std::string where = std::string(machine) + " " + kind;
        EXPECT_EQ(count(text, "glres"), kind == std::string("allreduce") ? 2 : 0) << where;
        EXPECT_EQ(count(text, "gstore"), kind == std::string("allgather")   ? 2 * topology.ranks
                                         : kind == std::string("broadcast") ? 2
                                                                            : 0)
            << where;
        MscclppFile file = mscclpp_from_json(text, "ours");
        file.program.name = program->name;
        EXPECT_EQ(plain(file.program), plain(*program)) << where;
        std::int64_t wrong = 0;
        for (const RunRow& row : run_peers_on_threads(file.program, file.collective, options))
          wrong += row.wrong + !row.agrees;
        EXPECT_EQ(wrong, 0) << where;
      }
  }
}

// Between ranks of one node there are memory channels, between others port channels, whose proxies put alone.
// What a proxy reads may change only after a flush: without any the plan is wrong. Only in place may what is
// put be copies in scratch, which the next launch overwrites after the handshake.
TEST(WriteMscclppPlan, nodes_are_joined_by_port_channels) {
  int plans = 0, flushes = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    std::mt19937 random(seed);
    const int ranks = 4 + static_cast<int>(seed) % 3;
    const Topology topology = test::full(ranks);
    MscclppOptions options;
    for (Rank n = 0; n < ranks; ++n) options.nodes.push_back(n / 2);  // the last may be alone
    for (const std::string kind : {"allreduce", "allgather", "alltoall", "broadcast", "reducescatter"}) {
      const bool adds = kind == "allreduce";
      const Collective collective = make_collective(kind, ranks, adds ? ranks * 2 : 2);
      const Verified<Schedule> schedule =
          accepted(topology, collective,
                   adds ? test::random_allreduce(topology, 2, random) : direct(topology, collective));
      for (const bool in_place : {false, true}) {
        const std::string text = to_mscclpp_plan(
            lower<PeerProgram>(
                schedule,
                {.in_place = in_place, .reuse_scratch = false, .peers = peers_for_mscclpp(options)}),
            options);  // verified
        nlohmann::json plan = nlohmann::json::parse(text);
        for (Rank n = 0; n < ranks; ++n)
          for (const nlohmann::json& channel : plan["gpus"][n]["channels"])
            for (const Rank peer : channel["connected_to"])
              EXPECT_EQ(channel["channel_type"], n / 2 == peer / 2 ? "memory" : "port") << kind << seed;
        int here = 0;
        for (nlohmann::json& gpu : plan["gpus"])
          for (nlohmann::json& block : gpu["threadblocks"]) {
            nlohmann::json kept = nlohmann::json::array();
            for (const nlohmann::json& op : block["ops"]) {
              const bool flush = op["name"] == "flush";
              EXPECT_TRUE(!flush || op["dst_buff"].size() == op["channel_ids"].size());
              EXPECT_TRUE(flush || !op.contains("dst_buff") || op.value("channel_type", "") != "port" ||
                          op["name"] == "put");
              if (!flush) kept.push_back(op);
            }
            here += static_cast<int>(block["ops"].size() - kept.size());
            block["ops"] = std::move(kept);
          }
        EXPECT_GT(here, 0) << kind << seed;
        const MscclppFile without = mscclpp_from_json(plan.dump(), "without flushes");
        EXPECT_EQ(violations(without.collective, without.program, {.proxies = without.proxies}).empty(),
                  in_place && kind == "alltoall")
            << kind << seed;
        ++plans;
        flushes += here;
      }
    }
  }
  EXPECT_EQ(plans, 60);
  EXPECT_GT(flushes, 200);
}

// Two nodes: ranks 0 and 8 add up their nodes by switches, 8 adds both, and both copy the result to their
// nodes. The result comes to 0 as one message of two chunks, over the sums that it had made: these do not go
// to all of its node.
TEST(WriteMscclppPlan, a_sum_that_is_overwritten_stays_at_its_rank) {
  Topology topology = test::with_able_switches("dgx-h100:2");
  for (SharedLimit& limit : topology.limits)
    if (limit.links.size() < 3) limit.abilities = {};
  const Collective collective = make_collective("allreduce", 16, 2);
  Schedule schedule;
  const auto step = [&](bool reduce, bool within, const std::vector<std::pair<Rank, Rank>>& sends) {
    Step& next = schedule.steps.emplace_back();
    for (Chunk c = 0; c < 2; ++c)
      for (const auto& [from, to] : sends)
        for (Rank n = 1; n < (within ? 8 : 2); ++n) {
          const Rank src = within && reduce ? from + n : from, dst = within && !reduce ? to + n : to;
          next.sends.push_back({.chunk = c, .link = find_link(topology, src, dst), .reduce = reduce});
        }
    std::ranges::sort(next.sends);
    next.rounds = needed_rounds(topology, next);
  };
  step(true, true, {{0, 0}, {8, 8}});
  step(true, false, {{0, 8}});
  step(false, false, {{8, 0}});
  step(false, true, {{0, 0}, {8, 8}});
  const std::string text = plan_of(accepted(topology, collective, schedule), 64);  // throws if it is wrong
  EXPECT_EQ(text.find("glres"), std::string::npos);
  EXPECT_NE(text.find("gstore"), std::string::npos);
}

}  // namespace
}  // namespace chorale
