#include "graph/embedding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "construct/incumbents.h"
#include "semantics/verify.h"
#include "tests/kit/random.h"
#include "topology/builders.h"

namespace chorale {
namespace {

std::vector<int> counting(int n, int from = 0) {
  std::vector<int> numbers(n);
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

// Of some ranks, whose machine is part_at(): it has the links between them in their order.
Embedding embedding_of(const Topology& whole, const std::vector<Rank>& ranks, std::vector<Chunk> chunks) {
  Embedding e{.ranks = ranks, .chunks = std::move(chunks)};
  for (LinkId l = 0; l < std::ssize(whole.links); ++l)
    if (std::ranges::count(ranks, whole.links[l].src) && std::ranges::count(ranks, whole.links[l].dst))
      e.links.push_back(l);
  return e;
}

// Who has which chunk when all is done, starting with what is where.
using Held = std::set<std::pair<Chunk, Rank>>;
Held after(const Topology& topology, const Schedule& schedule, Held held) {
  for (const Step& step : schedule.steps) {
    const Held before = held;
    for (const Send& send : step.sends)
      if (before.contains({send.chunk, topology.links[send.link].src}))
        held.insert({send.chunk, topology.links[send.link].dst});
  }
  return held;
}

struct Subject {
  Topology whole_machine, part_machine;
  Collective whole, part;
  Embedding embedding;
};

// An Allgather of some ranks of a random machine in one of all.
Subject random_subject(std::mt19937& random) {
  Subject s;
  const int ranks = 4 + static_cast<int>(random() % 4), some = 2 + static_cast<int>(random() % 3);
  s.whole_machine = test::random_machine(random, {.least_ranks = ranks, .most_ranks = ranks});
  std::vector<Rank> chosen = counting(ranks);
  std::ranges::shuffle(chosen, random);
  chosen.resize(some);
  if (random() % 2) chosen = counting(some, static_cast<int>(random() % (ranks - some + 1)));
  s.part_machine = part_at(s.whole_machine, chosen);
  s.whole = make_collective("allgather", ranks, 2);
  s.part = make_collective("allgather", some, 2);
  std::vector<Chunk> chunks;
  for (Rank n : chosen)
    for (int i = 0; i < 2; ++i) chunks.push_back(2 * n + i);
  s.embedding = embedding_of(s.whole_machine, chosen, chunks);
  return s;
}

// What the part's schedule does is what the whole does at the part's ranks, with the part's chunks, and
// nothing else.
TEST(Embedding, DoesInTheWholeWhatThePartDoes) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const Subject s = random_subject(random);
    Schedule schedule;
    for (int step = 0; step < 4; ++step) {
      schedule.steps.emplace_back();
      for (int i = 0; i < 5 && !s.part_machine.links.empty(); ++i)
        schedule.steps.back().sends.push_back(
            {.chunk = static_cast<Chunk>(random() % s.part.chunks.size()),
             .link = static_cast<LinkId>(random() % s.part_machine.links.size())});
    }
    Held start, there;
    for (Chunk c = 0; c < std::ssize(s.part.chunks); ++c)
      for (Rank n : s.part.chunks[c].pre) {
        start.insert({c, n});
        there.insert({s.embedding.chunks[c], s.embedding.ranks[n]});
      }
    Held expected;
    for (const auto& [c, n] : after(s.part_machine, schedule, start))
      expected.insert({s.embedding.chunks[c], s.embedding.ranks[n]});
    const Schedule whole = embedded(schedule, s.embedding, s.whole_machine);
    EXPECT_EQ(after(s.whole_machine, whole, there), expected);
    for (const Step& step : whole.steps) {  // no round fewer than any link or limit needs
      const auto over = [&](const std::vector<LinkId>& links) {
        return std::ranges::count_if(step.sends,
                                     [&](const Send& send) { return std::ranges::count(links, send.link); });
      };
      const auto fits = [&](int rounds) {
        for (LinkId l = 0; l < std::ssize(s.whole_machine.links); ++l)
          if (over({l}) > rounds * s.whole_machine.links[l].bandwidth) return false;
        return std::ranges::all_of(s.whole_machine.limits, [&](const SharedLimit& limit) {
          return over(limit.links) <= rounds * limit.bandwidth;
        });
      };
      EXPECT_TRUE(fits(step.rounds));
      EXPECT_TRUE(step.rounds == 1 || !fits(step.rounds - 1));
    }
  }
}

// Two steps into the whole are one step by the composition.
TEST(Embedding, OfAPartOfAPartIsAPartOfTheWhole) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const Subject s = random_subject(random);
    std::vector<Rank> two = counting(s.part_machine.ranks);
    std::ranges::shuffle(two, random);
    two.resize(2);
    const Topology machine = part_at(s.part_machine, two);
    const Collective gather = make_collective("allgather", 2, 2);
    const Embedding inner =
        embedding_of(s.part_machine, two, {2 * two[0], 2 * two[0] + 1, 2 * two[1], 2 * two[1] + 1});
    const Embedding both = compose(inner, s.embedding);
    EXPECT_EQ(part_at(s.whole_machine, both.ranks), machine);
    EXPECT_EQ(embedding_of(s.whole_machine, both.ranks, both.chunks), both);
    Schedule schedule{.steps = {{}}};
    for (LinkId l = 0; l < std::ssize(machine.links); ++l)
      schedule.steps[0].sends.push_back({.chunk = 2 * machine.links[l].src, .link = l});
    EXPECT_EQ(embedded(embedded(schedule, inner, s.part_machine), s.embedding, s.whole_machine),
              embedded(schedule, both, s.whole_machine));
  }
}

Schedule any(const Topology& machine, const Collective& collective) {
  return incumbents(machine, collective).front().schedule;
}

// In every node a ReduceScatter, then an AllReduce of each place over the nodes, then in every node an
// Allgather: an AllReduce, by parts that know nothing of each other. The verifier looks at the result alone.
TEST(Embedding, AHierarchicalAllReduceIsMadeOfItsParts) {
  for (const auto& [nodes, devices] : {std::pair{2, 4}, {3, 2}, {4, 4}, {1, 4}, {3, 1}})
    for (int chunks : {1, 2}) {
      const int ranks = nodes * devices;
      const Topology machine =
          ranks == 1 ? Topology{.ranks = 1} : named_topology("full:" + std::to_string(ranks));
      const Collective whole = make_collective("allreduce", ranks, devices * chunks);
      std::vector<Schedule> phases(3);
      const auto put = [&](int phase, const std::string& name, const std::vector<Rank>& at,
                           const std::vector<Chunk>& chunks_at, int chunks_per_block) {
        const Topology part = part_at(machine, at);
        const Collective collective = make_collective(name, part.ranks, chunks_per_block);
        const Embedding e = embedding_of(machine, at, chunks_at);
        phases[phase] = beside(phases[phase], embedded(any(part, collective), e, machine), machine);
      };
      for (int node = 0; node < nodes; ++node) {
        put(0, "reducescatter", counting(devices, node * devices), counting(devices * chunks), chunks);
        put(2, "allgather", counting(devices, node * devices), counting(devices * chunks), chunks);
      }
      for (int place = 0; place < devices; ++place) {
        std::vector<Rank> rail;
        for (int node = 0; node < nodes; ++node) rail.push_back(node * devices + place);
        put(1, "allreduce", rail, counting(chunks, place * chunks), chunks);
      }
      const Schedule all = sequence(sequence(phases[0], phases[1]), phases[2]);
      EXPECT_TRUE(violations(machine, whole, all).empty()) << nodes << " x " << devices;
    }
}

}  // namespace
}  // namespace chorale
