// In which order ranks add up. The verifier tries all orders in which the operands of each step's sums can be
// added, and asks whether some choice gives all destinations the same tree.
#include "ir/agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "semantics/verify.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

Send add(Chunk c, LinkId l) {
  return {.chunk = c, .link = l, .reduce = true};
}
Send copy(Chunk c, LinkId l) {
  return {.chunk = c, .link = l};
}

// full(n): link of i -> j.
LinkId link(int n, Rank i, Rank j) {
  return i * (n - 1) + (j < i ? j : j - 1);
}

Collective allreduce(int ranks, const std::string& order = "agreed") {
  Collective c = make_collective("allreduce", ranks, 1);
  c.order = parse_sum_order(order, ranks, "test");
  return c;
}

Schedule one_shot(int n) {
  Step step{.rounds = 1};
  for (LinkId l = 0; l < n * (n - 1); ++l) step.sends.push_back(add(0, l));
  return {{step}};
}

// 0 <-> 1 and 2 <-> 3, then 0 <-> 2 and 1 <-> 3.
Schedule doubling() {
  const auto both = [](Rank a, Rank b, Rank c, Rank d) {
    Step step{.rounds = 1};
    for (const auto& [i, j] : {std::pair(a, b), {b, a}, {c, d}, {d, c}})
      step.sends.push_back(add(0, link(4, i, j)));
    std::ranges::sort(step.sends);
    return step;
  };
  return {{both(0, 1, 2, 3), both(0, 2, 1, 3)}};
}

// Rank 1's value goes to 0 and to 2, and theirs to each other over 3 and 4: rank 0 gets (0 + 1) + 2 and rank
// 2 gets (1 + 2) + 0, and no order of adding up inside a step can change that.
TEST(Agreement, RanksThatUseOverlappingPartsDisagree) {
  Schedule s{{{.rounds = 1,
               .sends = {add(0, link(5, 0, 3)), add(0, link(5, 1, 0)), add(0, link(5, 1, 2)),
                         add(0, link(5, 2, 4))}},
              {.rounds = 1, .sends = {add(0, link(5, 3, 2)), add(0, link(5, 4, 0))}}}};
  Collective c = allreduce(5);
  c.chunks[0].pre = {0, 1, 2};
  c.chunks[0].post = {0, 2};
  const auto faults = violations(test::full(5), c, s);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].kind, Fault::Kind::Order);
  EXPECT_EQ(faults[0].words,
            "chunk 0: partial sums of ranks {0 1} and of {1 2} are both used, so its destinations add up in "
            "different orders");
  c.order.kind = SumOrder::Kind::Free;
  EXPECT_TRUE(violations(test::full(5), c, s).empty());
  // With one destination there is nothing to agree with, and what rank 2 holds is of no use.
  c.order.kind = SumOrder::Kind::Agreed;
  c.chunks[0].post = {0};
  EXPECT_TRUE(violations(test::full(5), c, s).empty());
}

TEST(Agreement, OneShotAndDoublingAgree) {
  EXPECT_TRUE(violations(test::full(5), allreduce(5), one_shot(5)).empty());
  EXPECT_TRUE(violations(test::full(4), allreduce(4), doubling()).empty());
}

TEST(Agreement, AFixedTreeIsKeptOrNamed) {
  const Topology full4 = test::full(4);
  EXPECT_TRUE(violations(full4, allreduce(4, "((0 1) (2 3))"), doubling()).empty());
  EXPECT_TRUE(violations(full4, allreduce(4, "(0 (1 (2 3)))"), one_shot(4)).empty());
  const auto faults = violations(full4, allreduce(4, "((0 2) (1 3))"), doubling());
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].kind, Fault::Kind::Order);
  EXPECT_EQ(faults[0].words,
            "chunk 0: step 1: rank 0 adds up {0 1}, which is not a node of the tree ((0 2) (1 3))");
}

// Inputs travel as they are to where all of them are added; what was added before is no partial sum of that.
TEST(Agreement, OfSumsThatAreMadeAtOnceNoPartTravels) {
  const Topology full4 = test::full(4);
  EXPECT_TRUE(violations(full4, allreduce(4, "once"), one_shot(4)).empty());
  const auto faults = violations(full4, allreduce(4, "once"), doubling());
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].kind, Fault::Kind::Order);
  EXPECT_EQ(faults[0].words,
            "chunk 0: step 1: rank 0 adds up {0 1}, which is not a node of the tree (0 1 2 3)");
  EXPECT_TRUE(adds_once(allreduce(4, "once")));
  EXPECT_FALSE(adds_once(allreduce(4, "(0 1 2 3)")));
  EXPECT_FALSE(adds_once(allreduce(2, "(0 1)")));  // nothing is asked of executors and targets
}

// One-shot: every rank adds from the left, in the order of ranks, whatever it holds itself.
TEST(Agreement, ValuesOfAStepAreAddedInTheOrderOfRanks) {
  const Schedule s = one_shot(4);
  const SendsByChunk sends = sends_by_chunk(allreduce(4), s);
  for (const SumMade& sum : sums_of(test::full(4), allreduce(4), 0, sends.of(0)).sums) {
    // Value 0 is the rank's own; the others are those of the other ranks, by links.
    std::vector<int> value_of;
    for (Rank n = 0, k = 1; n < 4; ++n) value_of.push_back(n == sum.rank ? 0 : k++);
    EXPECT_EQ(sum.additions,
              (std::vector<Addition>{
                  {value_of[0], value_of[1]}, {value_of[0], value_of[2]}, {value_of[0], value_of[3]}}));
  }
}

// --- Against all orders.

using Tree = std::string;  // of two subtrees the smaller text first

Tree joined(const Tree& a, const Tree& b) {
  return a < b ? "(" + a + b + ")" : "(" + b + a + ")";
}

// All trees over these values.
std::set<Tree> all_trees(const std::vector<Tree>& values) {
  if (values.size() == 1) return {values[0]};
  std::set<Tree> result;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      std::vector<Tree> rest = {joined(values[i], values[j])};
      for (std::size_t k = 0; k < values.size(); ++k)
        if (k != i && k != j) rest.push_back(values[k]);
      result.merge(all_trees(rest));
    }
  return result;
}

// Does some choice of orders, sum by sum, end with one tree at all destinations?
class AllOrders {
 public:
  AllOrders(const Topology& topology, const Collective& collective, const Schedule& schedule)
      : topology_(topology), spec_(collective.chunks[0]), schedule_(schedule) {}

  // None: there are too many.
  std::optional<bool> agree() {
    std::map<Rank, Tree> held;
    for (const Rank n : spec_.pre) held[n] = std::to_string(n);
    const bool found = from(0, held);
    return found || work_ > 0 ? std::optional(found) : std::nullopt;
  }

 private:
  bool from(std::size_t s, const std::map<Rank, Tree>& held) {
    if (--work_ < 0) return false;
    if (s == schedule_.steps.size())
      return std::ranges::all_of(spec_.post,
                                 [&](Rank n) { return held.at(n) == held.at(spec_.post.front()); });
    std::map<Rank, std::vector<Tree>> operands;
    std::set<Rank> replaced;
    for (const Send& send : schedule_.steps[s].sends) {
      const Link& over = topology_.links[send.link];
      operands[over.dst].push_back(held.at(over.src));
      if (!send.reduce) replaced.insert(over.dst);
    }
    for (auto& [n, values] : operands)
      if (!replaced.contains(n) && held.contains(n)) values.push_back(held.at(n));
    return choose(s, held, operands, operands.begin(), held);
  }
  bool choose(std::size_t s, const std::map<Rank, Tree>& held,
              const std::map<Rank, std::vector<Tree>>& operands,
              std::map<Rank, std::vector<Tree>>::const_iterator at, std::map<Rank, Tree> after) {
    if (at == operands.end()) return from(s + 1, after);
    const Rank n = at->first;
    const std::vector<Tree>& values = at->second;
    ++at;
    for (const Tree& tree : all_trees(values)) {
      after[n] = tree;
      if (choose(s, held, operands, at, after)) return true;
    }
    return false;
  }

  const Topology& topology_;
  const ChunkSpec& spec_;
  const Schedule& schedule_;
  int work_ = 3'000;
};

// Random sends that lose and double nothing, until all destinations have the sum; none if that takes too
// long.
std::optional<Schedule> random_schedule(const Topology& topology, const Collective& collective,
                                        std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
  const int all = (1 << topology.ranks) - 1;
  std::vector<int> held(topology.ranks);
  for (Rank n = 0; n < topology.ranks; ++n) held[n] = 1 << n;
  Schedule schedule;
  for (int steps = 0; steps < 12 && schedule.steps.size() < 6; ++steps) {
    if (std::ranges::all_of(collective.chunks[0].post, [&](Rank n) { return held[n] == all; }))
      return schedule;
    Step step{.rounds = 1};
    std::vector<int> after = held;
    for (int tries = 1 + below(8); tries > 0; --tries) {
      const LinkId l = below(topology.links.size());
      const auto [src, dst] = std::pair(topology.links[l].src, topology.links[l].dst);
      const bool fits = (after[dst] & held[src]) == 0;
      const bool whole = held[src] == all && held[dst] != all && after[dst] == held[dst];
      if (!fits && !whole) continue;
      if (std::ranges::count(step.sends, l, &Send::link) > 0) continue;
      step.sends.push_back(fits ? add(0, l) : copy(0, l));
      after[dst] = fits ? after[dst] | held[src] : all;
    }
    if (step.sends.empty()) continue;
    std::ranges::sort(step.sends);
    held = after;
    schedule.steps.push_back(step);
  }
  return std::nullopt;
}

TEST(Agreement, RandomSchedulesAgreeJustIfSomeOrderDoes) {
  constexpr unsigned kSeed = 20261123;
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  int agreeing = 0, others = 0;
  for (int i = 0; i < 10'000; ++i) {
    const int ranks = 3 + static_cast<int>(random() % 2);
    const Topology topology = test::full(ranks);
    const Collective collective = allreduce(ranks);
    const auto schedule = random_schedule(topology, collective, random);
    if (!schedule || !violations(topology, allreduce(ranks, "free"), *schedule).empty()) continue;
    const auto faults = violations(topology, collective, *schedule);
    const std::optional<bool> agrees = AllOrders(topology, collective, *schedule).agree();
    if (!agrees) continue;
    ASSERT_EQ(faults.empty(), *agrees) << i << (faults.empty() ? "" : faults[0].words);
    if (!*agrees) {
      ASSERT_EQ(faults[0].kind, Fault::Kind::Order);
    }
    ++(*agrees ? agreeing : others);
  }
  EXPECT_GT(agreeing, 25);
  EXPECT_GT(others, 25);
  std::cout << agreeing << " agree, " << others << " do not\n";
}

}  // namespace
}  // namespace chorale
