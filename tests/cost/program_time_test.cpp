// Times that can be worked out by hand.
#include "cost/program_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "construct/baselines/classic.h"
#include "cost/cost.h"
#include "tests/codegen/passes_alone.h"
#include "tests/codegen/schedules.h"
#include "tests/kit/refusal.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

using ::testing::HasSubstr;

constexpr double kAlpha = 1.0, kBeta = 4e-5;  // of the links in machines.h
constexpr double kBytes = 1e6;                // of a block: 40 us over a link

PeerInstruction move(const DataPlace& from, const DataPlace& to) {
  return {.opcode = PeerOpcode::Move, .does = {.from = {from}, .to = {to}}};
}
PeerInstruction raise(Rank rank, int counter) {
  return {.opcode = PeerOpcode::Signal, .rank = rank, .counter = counter};
}
PeerInstruction wait(int counter) {
  return {.opcode = PeerOpcode::Wait, .counter = counter};
}
DataPlace scratch(Rank n, int i) {
  return {{Buffer::Scratch, i}, n};
}

// n - 1 messages one after the other on each link, each a step of its own.
TEST(ProgramTime, a_ring_allgather_takes_a_step_a_hop) {
  for (int n : {2, 3, 4, 8}) {
    const Topology ring = test::ring(n);
    const Collective collective = make_collective("allgather", n, 1);
    const BlockProgram program = relax(collective, lower(ring, collective, test::ring_allgather(n, 1)));
    const ProgramTime time = program_time(program, ring, kBytes, 2);
    EXPECT_NEAR(time.us, (n - 1) * (kAlpha + kBeta * kBytes), 1e-9) << n;
    EXPECT_NEAR(time.busiest_us, (n - 1) * kBeta * kBytes, 1e-9) << n;
  }
}

// The same where ranks wait for a step's messages. With one link of half the rate, its two ends take twice
// as long for each step, and all others wait for them: as by the worst link alone.
TEST(ScheduleTime, StepsTakeWhatTheirOwnLinksTake) {
  for (int n : {3, 4, 8}) {
    Topology ring = test::ring(n);
    const Schedule schedule = test::ring_allgather(n, 1);
    const ProgramTime time = schedule_time(schedule, ring, 1, kBytes);
    EXPECT_NEAR(time.us, (n - 1) * (kAlpha + kBeta * kBytes), 1e-9) << n;
    EXPECT_NEAR(time.busiest_us, (n - 1) * kBeta * kBytes, 1e-9) << n;
    EXPECT_NEAR(schedule_time(schedule, ring, 1, 0).us, (n - 1) * kAlpha, 1e-9) << n;
    for (Link& link : ring.links)
      if (link.src == 0 && link.dst == 1) link.beta_us_per_byte *= 2;
    const ProgramTime slower = schedule_time(schedule, ring, 1, kBytes);
    EXPECT_NEAR(slower.us, (n - 1) * (2 * kBeta * kBytes + kAlpha), 1e-9) << n;
    EXPECT_EQ(slower.busiest, "link 0 -> 1") << n;
  }
}

// Two links from 0 to 1, one of them slow: what the schedule names is taken, whichever is free.
TEST(ScheduleTime, IsOfTheLinksThatAreNamed) {
  Topology pair{.name = "pair", .ranks = 2};
  pair.links = {{.src = 0, .dst = 1, .bandwidth = 8, .alpha_us = 0.7},
                {.src = 0, .dst = 1, .bandwidth = 1, .alpha_us = 6}};
  const auto us = [&](std::vector<Send> sends) {
    return schedule_time({.steps = {{.rounds = 8, .sends = std::move(sends)}}}, pair, 1, kBytes).us;
  };
  EXPECT_NEAR(us({{0, 0}}), 0.7 + kBeta * kBytes / 8, 1e-9);
  EXPECT_NEAR(us({{0, 1}}), 6 + kBeta * kBytes, 1e-9);
  EXPECT_NEAR(us({{0, 0}, {1, 0}}), 0.7 + 2 * kBeta * kBytes / 8, 1e-9);  // one after the other: the same
  EXPECT_NEAR(us({{0, 0}, {1, 1}}), 6 + kBeta * kBytes, 1e-9);
}

// Everything again, slowly: each message by itself, all rates from nothing at each time, by raising all
// that are not yet bounded until some link or limit is full. Nothing is kept but what is left of each
// message.
class SlowTime {
 public:
  SlowTime(const Schedule& schedule, const Topology& topology, double chunk_bytes)
      : topology_(topology), bytes_(chunk_bytes) {
    for (int s = 0; s < std::ssize(schedule.steps); ++s)
      for (const Send& send : schedule.steps[s].sends)
        messages_.push_back(
            {s, send.link, topology.links[send.link].src, topology.links[send.link].dst, chunk_bytes});
    steps_ = static_cast<int>(schedule.steps.size());
  }

  double us() {
    std::vector<int> at(topology_.ranks, 0);
    double now = 0;
    for (;;) {
      for (bool moved = true; moved;) {
        moved = false;
        for (Rank n = 0; n < topology_.ranks; ++n)
          while (at[n] < steps_ && std::ranges::all_of(messages_, [&](const Message& m) {
                   return m.step != at[n] || (m.src != n && m.dst != n) || m.there <= now;
                 })) {
            ++at[n];
            moved = true;
          }
      }
      std::vector<Message*> flowing;
      double next = kNever;
      for (Message& m : messages_) {
        if (at[m.src] < m.step) continue;  // not sent yet
        if (m.there < kNever) {
          if (m.there > now) next = std::min(next, m.there);
          continue;
        }
        if (m.left > 1e-9 * bytes_) {
          flowing.push_back(&m);
        } else {
          m.there = now + topology_.links[m.link].alpha_us;
          next = std::min(next, std::max(m.there, now));
        }
      }
      share(flowing);
      for (const Message* m : flowing) next = std::min(next, now + m->left / m->rate);
      if (next == kNever) return now;
      for (Message* m : flowing) m->left -= m->rate * (next - now);
      now = next;
    }
  }

 private:
  static constexpr double kNever = 1e300;
  struct Message {
    int step = 0;
    LinkId link = 0;
    Rank src = 0, dst = 0;
    double left = 0, rate = 0, there = kNever;
  };

  // Of the link and the limits of a message: how much of them it takes at this rate.
  void share(std::vector<Message*> open) const {
    std::vector<double> room;
    for (const Link& link : topology_.links) room.push_back(link.bandwidth);
    for (const SharedLimit& limit : topology_.limits) room.push_back(limit.bandwidth);
    const auto over = [&](const Message& m) {
      std::vector<std::size_t> resources = {static_cast<std::size_t>(m.link)};
      for (std::size_t i = 0; i < topology_.limits.size(); ++i)
        if (std::ranges::find(topology_.limits[i].links, m.link) != topology_.limits[i].links.end())
          resources.push_back(topology_.links.size() + i);
      return resources;
    };
    for (Message* m : open) m->rate = 0;
    while (!open.empty()) {
      std::vector<double> demand(room.size(), 0);
      for (const Message* m : open)
        for (const std::size_t r : over(*m)) demand[r] += topology_.links[m->link].beta_us_per_byte;
      double rise = kNever;
      for (std::size_t r = 0; r < room.size(); ++r)
        if (demand[r] > 0) rise = std::min(rise, room[r] / demand[r]);
      for (std::size_t r = 0; r < room.size(); ++r) room[r] -= rise * demand[r];
      for (Message* m : open) m->rate += rise;
      std::erase_if(open, [&](const Message* m) {
        return std::ranges::any_of(over(*m), [&](std::size_t r) { return room[r] < 1e-9; });
      });
    }
  }

  const Topology& topology_;
  const double bytes_;
  std::vector<Message> messages_ = {};
  int steps_ = 0;
};

// Links of different rates and latencies, several between two ranks, limits of any size over any of them; and
// schedules that nobody would need: any sends in any step.
TEST(ScheduleTime, IsThatOfASlowSimulation) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> factor(0.2, 5);
  for (int i = 0; i < 300; ++i) {
    const int ranks = 2 + static_cast<int>(random() % 5);
    Topology machine{.name = "random", .ranks = ranks};
    for (int l = 0; l < ranks * 3; ++l) {
      const Rank src = static_cast<Rank>(random() % static_cast<unsigned>(ranks));
      const Rank dst = (src + 1 + static_cast<Rank>(random() % static_cast<unsigned>(ranks - 1))) % ranks;
      machine.links.push_back({.src = src,
                               .dst = dst,
                               .bandwidth = 1 + static_cast<int>(random() % 4),
                               .alpha_us = random() % 5 == 0 ? 0 : factor(random),
                               .beta_us_per_byte = 4e-5 * factor(random)});
    }
    for (std::size_t k = random() % 5; k > 0; --k) {
      SharedLimit limit{.name = "some", .bandwidth = 1 + static_cast<int>(random() % 3)};
      for (LinkId l = 0; l < std::ssize(machine.links); ++l)
        if (random() % 3 == 0) limit.links.push_back(l);
      if (!limit.links.empty()) machine.limits.push_back(limit);
    }
    Schedule schedule;
    for (std::size_t s = 1 + random() % 4; s > 0; --s) {
      Step& step = schedule.steps.emplace_back();
      for (std::size_t k = random() % 12; k > 0; --k)
        step.sends.push_back(
            {.chunk = static_cast<Chunk>(k), .link = static_cast<LinkId>(random() % machine.links.size())});
    }
    for (const double bytes : {0.0, 1e3, 1e6, 1e9}) {
      const double us = schedule_time(schedule, machine, 3, bytes).us;
      EXPECT_NEAR(us, SlowTime(schedule, machine, bytes / 3).us(), 1e-6 * us + 1e-6) << i << " " << bytes;
    }
  }
}

// What the formula states is what the simulation finds, where all links are alike and every step fills its
// rounds; both have the call once.
TEST(ScheduleTime, IsTheFormulaWhereAllTakeTheSame) {
  for (const char* name :
       {"ring_allreduce", "direct_allgather", "one_shot_allreduce", "recursive_doubling_allgather"})
    for (Topology machine : {test::full(4), test::hub(8)}) {
      machine.call_us = 6.5;
      const Point point = classic_algorithm(name, machine);
      for (const double bytes : {0.0, 1e3, 1e8})
        EXPECT_NEAR(schedule_time(point.schedule, machine, point.cost.chunks, bytes).us,
                    time_us(point.cost, machine, bytes), 1e-9 * time_us(point.cost, machine, bytes))
            << name << " " << machine.name << " " << bytes;
    }
}

// At any size the fastest is one of those whose range the size is in, or as fast as it to a thousandth.
TEST(FastestSizes, AreWhereEachIsTheFastest) {
  std::mt19937 random(12);
  std::uniform_real_distribution<double> exponent(0, 9);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::vector<std::pair<double, double>>> curves(1 + random() %
                                                                       5);  // each the larger of some lines
    for (auto& lines : curves)
      for (std::size_t k = 1 + random() % 3; k > 0; --k)
        lines.emplace_back(std::pow(10, exponent(random) / 3), std::pow(10, -exponent(random)));
    const auto us = [&](std::size_t c, double bytes) {
      double most = 0;
      for (const auto& [at_none, per_byte] : curves[c]) most = std::max(most, at_none + per_byte * bytes);
      return most;
    };
    const auto ranges = fastest_sizes(curves.size(), us);
    for (int k = 0; k < 100; ++k) {
      const double bytes = k == 0 ? 0 : std::pow(10, exponent(random) * 1.2);
      double least = us(0, bytes), told = -1;
      int owners = 0;
      for (std::size_t c = 0; c < curves.size(); ++c) {
        least = std::min(least, us(c, bytes));
        for (const SizeRange& range : ranges[c])
          if (range.from <= bytes && bytes < range.to) {
            told = us(c, bytes);
            ++owners;
          }
      }
      ASSERT_EQ(owners, 1) << i;
      EXPECT_LE(told, least * 1.02) << i << " " << bytes;  // three lines may meet between two powers of two
    }
  }
}

// Where all links are alike it is the formula that prices a point, as tables do.
TEST(PointTime, OfLinksThatAreAlikeIsTheFormulas) {
  const Topology ring = test::ring(5);
  const Point point = classic_algorithm("ring_allgather", ring);
  EXPECT_DOUBLE_EQ(point_us(ring, point, kBytes), time_us(point.cost, ring, kBytes));
}

// However a time is found, a call is in it once: by the formula, by simulation, and of a lowered program.
TEST(PointTime, HasTheCallOnce) {
  Topology ring = test::ring(4), differ = ring;
  differ.links[1].alpha_us *= 2;
  const Point point = classic_algorithm("ring_allgather", ring);
  PeerProgram nothing{.name = "nothing", .collective = CollectiveKind::Allgather};
  nothing.ranks.resize(4);
  for (Topology* machine : {&ring, &differ}) {
    const double before = point_us(*machine, point, kBytes);
    machine->call_us = 6.5;
    EXPECT_NEAR(point_us(*machine, point, kBytes), 6.5 + before, 1e-9);
    EXPECT_NEAR(*point_us(*machine, point, kBytes, nullptr), 6.5 + before, 1e-9);
    EXPECT_DOUBLE_EQ(program_time(nothing, *machine, kBytes).us, 6.5);
  }
}

// k pieces through a line of n ranks: the first takes n - 1 hops, the others leave the last link right after
// it.
TEST(ProgramTime, pieces_overlap_in_a_pipeline) {
  const int n = 4, k = 5;
  BlockProgram program{.name = "line", .collective = CollectiveKind::Broadcast, .chunks_per_block = k};
  for (Rank r = 0; r < n; ++r) {
    Block block{.send_to = r + 1 < n ? r + 1 : -1, .recv_from = r - 1};
    for (int c = 0; c < k; ++c)
      block.instructions.push_back({.does = shaped(*shape_named(r == 0      ? "s"
                                                                : r + 1 < n ? "rcs"
                                                                            : "r"),
                                                   {Buffer::Input, c}, {Buffer::Output, c})});
    program.ranks.push_back({.input_chunks = r == 0 ? k : 0, .output_chunks = k, .blocks = {block}});
  }
  const double piece = kBeta * kBytes / k;
  EXPECT_NEAR(program_time(program, test::ring(n), kBytes, 2).us,
              (n - 1) * (kAlpha + piece) + (k - 1) * piece, 1e-9);
}

// All others put a block into rank 0 at once. With links of their own they take one time; through a port for
// one at a time, three.
TEST(ProgramTime, shared_limits_are_shared) {
  PeerProgram program{.name = "gather", .collective = CollectiveKind::Gather};
  for (Rank n = 0; n < 4; ++n) {
    PeerBlock block;
    if (n == 0)
      block.instructions = {wait(1), wait(2), wait(3)};
    else
      block.instructions = {move({{Buffer::Input, 0}, n}, {{Buffer::Output, n}, 0}), {}, raise(0, n)};
    program.ranks.push_back(
        {.input_chunks = 1, .output_chunks = n == 0 ? 4 : 0, .counters = 4, .blocks = {block}});
  }
  const ProgramTime alone = program_time(program, test::full(4), kBytes);
  EXPECT_NEAR(alone.us, kAlpha + kBeta * kBytes, 1e-9);
  const ProgramTime shared = program_time(program, test::hub(4), kBytes);
  EXPECT_NEAR(shared.us, kAlpha + 3 * kBeta * kBytes, 1e-9);
  EXPECT_NEAR(shared.busiest_us, 3 * kBeta * kBytes, 1e-9);
  EXPECT_EQ(shared.busiest, "limit into 0");
}

// Block 1 sends when block 0 has sent its message, over another link: one after the other.
TEST(ProgramTime, barriers_are_waited_for) {
  const auto times = [](bool meet) {
    BlockProgram program{.name = "meet", .collective = CollectiveKind::Broadcast};
    program.ranks.resize(3, {.input_chunks = 1, .output_chunks = 1});
    const BlockInstruction send{.does = sending({})}, receive{.does = receiving({})}, barrier{.barrier = 7};
    program.ranks[0].blocks = {{.send_to = 1, .instructions = {send}},
                               {.send_to = 2, .instructions = {send}}};
    if (meet) {
      program.ranks[0].blocks[0].instructions.push_back(barrier);
      program.ranks[0].blocks[1].instructions.insert(program.ranks[0].blocks[1].instructions.begin(),
                                                     barrier);
    }
    for (Rank n : {1, 2}) program.ranks[n].blocks = {{.recv_from = 0, .instructions = {receive}}};
    return program_time(program, test::full(3), kBytes, 1).us;
  };
  EXPECT_NEAR(times(false), kAlpha + kBeta * kBytes, 1e-9);
  EXPECT_NEAR(times(true), kAlpha + 2 * kBeta * kBytes, 1e-9);
}

// A link of bandwidth 2 takes half the time; two links side by side carry two messages at once.
TEST(ProgramTime, bandwidth_and_parallel_links) {
  PeerProgram program{.name = "twice", .collective = CollectiveKind::Broadcast};
  program.ranks = {
      {.input_chunks = 1, .output_chunks = 1, .blocks = {{}, {}}},
      {.output_chunks = 1, .scratch_chunks = 2, .counters = 2, .blocks = {{{wait(0), wait(1)}}}}};
  for (int b : {0, 1})
    program.ranks[0].blocks[b].instructions = {move({{Buffer::Input, 0}, 0}, scratch(1, b)), {}, raise(1, b)};
  Topology pair = test::full(2);
  EXPECT_NEAR(program_time(program, pair, kBytes).us, kAlpha + 2 * kBeta * kBytes, 1e-9);
  pair.links[0].bandwidth = 2;
  EXPECT_NEAR(program_time(program, pair, kBytes).us, kAlpha + kBeta * kBytes, 1e-9);
  pair.links[0].bandwidth = 1;
  EXPECT_FALSE(program_time(program, pair, kBytes).links_chosen);
  pair.links.push_back(pair.links[0]);
  EXPECT_NEAR(program_time(program, pair, kBytes).us, kAlpha + kBeta * kBytes, 1e-9);
  EXPECT_TRUE(program_time(program, pair, kBytes).links_chosen);
  pair.links.back().alpha_us = 1e6;  // by which it arrives last: both take the other
  EXPECT_NEAR(program_time(program, pair, kBytes).us, kAlpha + 2 * kBeta * kBytes, 1e-9);
}

// A load is there alpha after its data have left the other; then the block goes on. A signal takes alpha.
TEST(ProgramTime, loads_and_signals_have_latencies) {
  PeerProgram program{.name = "pull", .collective = CollectiveKind::Broadcast};
  program.ranks = {
      {.input_chunks = 1, .output_chunks = 1, .counters = 1, .blocks = {{{raise(1, 0), wait(0)}}}},
      {.output_chunks = 1,
       .counters = 1,
       .blocks = {
           {{wait(0), {}, move({{Buffer::Input, 0}, 0}, {{Buffer::Output, 0}, 1}), {}, raise(0, 0)}}}}};
  EXPECT_NEAR(program_time(program, test::full(2), kBytes).us, kAlpha + (kBeta * kBytes + kAlpha) + kAlpha,
              1e-9);
}

TEST(ProgramTime, links_that_are_not_there_are_named) {
  PeerProgram program{.name = "far", .collective = CollectiveKind::Broadcast};
  program.ranks.resize(4, {.scratch_chunks = 1});
  program.ranks[0].blocks = {{{move(scratch(0, 0), scratch(2, 0))}}};
  const auto problem = [&](const Topology& topology) {
    return test::refusal_of([&] { program_time(program, topology, kBytes); });
  };
  EXPECT_THAT(problem(test::ring(4)), HasSubstr("no link from rank 0 to rank 2"));
  EXPECT_THAT(problem(test::ring(5)), HasSubstr("has 5 ranks, the program 4"));
  EXPECT_EQ(problem(test::full(4)), "");
}

}  // namespace
}  // namespace chorale
