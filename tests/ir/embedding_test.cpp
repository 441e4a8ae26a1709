#include "ir/embedding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "construct/incumbents.h"
#include "ir/error.h"
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

// By the words of the header, slowly: is this an embedding of these ranks, links and chunks?
bool embeds(const Embedding& e, const Task& part, const Task& whole) {
  const auto one_to_one = [](const std::vector<int>& images, std::size_t from, std::size_t to) {
    return images.size() == from && std::set<int>(images.begin(), images.end()).size() == from &&
           std::ranges::all_of(images, [&](int i) { return 0 <= i && i < static_cast<int>(to); });
  };
  if (!one_to_one(e.ranks, part.topology.ranks, whole.topology.ranks) ||
      !one_to_one(e.links, part.topology.links.size(), whole.topology.links.size()) ||
      !one_to_one(e.chunks, part.collective.chunks.size(), whole.collective.chunks.size()))
    return false;
  for (std::size_t l = 0; l < e.links.size(); ++l)
    if (whole.topology.links[e.links[l]].src != e.ranks[part.topology.links[l].src] ||
        whole.topology.links[e.links[l]].dst != e.ranks[part.topology.links[l].dst])
      return false;
  for (Rank n = 0; n < part.topology.ranks; ++n) {
    std::set<int> inputs, outputs;
    for (std::size_t c = 0; c < e.chunks.size(); ++c) {
      const ChunkSpec &a = part.collective.chunks[c], &b = whole.collective.chunks[e.chunks[c]];
      if (std::ranges::count(a.pre, n) && std::ranges::count(b.pre, e.ranks[n]))
        inputs.insert(b.input - a.input);
      if (std::ranges::count(a.post, n) && std::ranges::count(b.post, e.ranks[n]))
        outputs.insert(b.output - a.output);
    }
    if (inputs.size() > 1 || outputs.size() > 1) return false;
  }
  return true;
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
  s.embedding = embedding_at(s.part_machine, s.whole_machine, chosen, chunks);
  return s;
}

// Whatever is done to it, it is an embedding where the slow words report it. Allgathers of chosen ranks are
// one exactly where the chosen ranks follow each other, so both answers come up often.
TEST(Embedding, IsRefusedExactlyWhereItIsNone) {
  std::mt19937 random(1);
  int good = 0, bad = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Subject s = random_subject(random);
    const auto change = [&](std::vector<int>& images) {
      if (images.empty()) return;
      switch (random() % 5) {
        case 0:
          images[random() % images.size()] = static_cast<int>(random() % 8) - 1;
          break;
        case 1:
          std::swap(images[random() % images.size()], images[random() % images.size()]);
          break;
        case 2:
          images.pop_back();
          break;
        default:
          break;
      }
    };
    const int which = static_cast<int>(random() % 3);
    change(which == 0 ? s.embedding.ranks : which == 1 ? s.embedding.links : s.embedding.chunks);
    const Task part{s.part_machine, s.part}, whole{s.whole_machine, s.whole};
    const std::string why = why_no_embedding(s.embedding, part, whole);
    EXPECT_EQ(why.empty(), embeds(s.embedding, part, whole)) << "trial " << trial << ": " << why;
    (why.empty() ? good : bad)++;
  }
  EXPECT_GT(good, 100);
  EXPECT_GT(bad, 1000);
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
        embedding_at(machine, s.part_machine, two, {2 * two[0], 2 * two[0] + 1, 2 * two[1], 2 * two[1] + 1});
    const Embedding both = compose(inner, s.embedding);
    EXPECT_EQ(part_at(s.whole_machine, both.ranks), machine);
    EXPECT_EQ(embedding_at(machine, s.whole_machine, both.ranks, both.chunks), both);
    Schedule schedule{.steps = {{}}};
    for (LinkId l = 0; l < std::ssize(machine.links); ++l)
      schedule.steps[0].sends.push_back({.chunk = 2 * machine.links[l].src, .link = l});
    EXPECT_EQ(embedded(embedded(schedule, inner, s.part_machine), s.embedding, s.whole_machine),
              embedded(schedule, both, s.whole_machine));
  }
}

TEST(Embedding, HasItsLinksInTheWholeOrSaysWhichIsMissing) {
  const Topology ring = named_topology("ring:4"), line = named_topology("line:4");
  EXPECT_EQ(embedding_at(line, ring, {3, 0, 1, 2}, {}).links.size(), 6u);
  try {
    embedding_at(ring, line, {0, 1, 2, 3}, {});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("has no link 3 -> 0"), std::string::npos) << error.what();
  }
}

// As composed AllReduces are: both halves keep all chunks where they are, and their blocks are windows of the
// vector. Chunks of another rank's block would not be.
TEST(Embedding, OfBothHalvesInAnAllReduce) {
  const Topology machine = named_topology("ring:4");
  const Collective whole = make_collective("allreduce", 4, 8);
  for (const std::string name : {"reducescatter", "allgather"}) {
    const Collective half = make_collective(name, 4, 2);
    Embedding e{.ranks = counting(4), .links = counting(8), .chunks = counting(8)};
    EXPECT_EQ(why_no_embedding(e, {machine, half}, {machine, whole}), "") << name;
    std::swap(e.chunks[1], e.chunks[2]);
    EXPECT_NE(why_no_embedding(e, {machine, half}, {machine, whole}), "") << name;
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
        const Embedding e = embedding_at(part, machine, at, chunks_at);
        EXPECT_EQ(why_no_embedding(e, {part, collective}, {machine, whole}), "") << name;
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
