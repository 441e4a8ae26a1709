#include "placement/node_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "ir/error.h"
#include "placement/node_loads.h"
#include "placement/order_bound.h"
#include "placement/order_sets.h"
#include "tests/kit/random.h"

namespace chorale {
namespace {

using test::below;
using test::between;

// Three tiers: hosts on leaves, leaves in pods, pods on one switch; a few hosts of each are the job's, all
// where there are no more.
Allocation fragments(std::mt19937& random, int nodes, int pods, int leaves, int hosts) {
  Allocation allocation;
  SwitchTree& tree = allocation.cluster;
  tree.switches = {"root"};
  tree.above = {-1};
  for (int p = 0; p < pods; ++p) {
    const int pod = static_cast<int>(tree.switches.size());
    tree.switches.push_back("pod" + std::to_string(p));
    tree.above.push_back(0);
    for (int l = 0; l < leaves; ++l) {
      const int leaf = static_cast<int>(tree.switches.size());
      tree.switches.push_back("leaf" + std::to_string(p) + "-" + std::to_string(l));
      tree.above.push_back(pod);
      for (int h = 0; h < hosts; ++h) {
        tree.leaf.push_back(leaf);
        tree.hosts.push_back("n" + std::to_string(tree.hosts.size()));
      }
    }
  }
  std::vector<int> all(tree.hosts.size());
  std::iota(all.begin(), all.end(), 0);
  std::ranges::shuffle(all, random);
  all.resize(std::min(all.size(), static_cast<std::size_t>(nodes)));
  allocation.hosts = all;
  return allocation;
}

Job random_job(std::mt19937& random, int nodes, int node_ranks) {
  Job job;
  int left = nodes;
  while (left > 1) {
    std::vector<int> sizes;
    for (int size = 2; size <= left; ++size)
      if (left % size == 0) sizes.push_back(size);
    const int size = sizes[below(random, static_cast<int>(sizes.size()))];
    job.axes.push_back({.name = "a" + std::to_string(job.axes.size()), .size = size});
    left /= size;
  }
  job.axes.push_back({.name = "inner", .size = node_ranks});
  const int axes = static_cast<int>(job.axes.size());
  for (int r = between(random, 1, 3); r > 0; --r) {
    Reduction reduction{.name = "r" + std::to_string(r),
                        .goal = kAllGoals[below(random, static_cast<int>(kAllGoals.size()))],
                        .bytes = 1e6 * between(random, 1, 50),
                        .times = static_cast<double>(between(random, 1, 4))};
    for (int a = 0; a < axes; ++a)
      if (below(random, 2) == 0) reduction.axes.push_back(a);
    if (reduction.axes.empty()) reduction.axes = {below(random, axes)};
    job.reductions.push_back(reduction);
  }
  return job;
}

// The obvious: every message from rank to rank, by its goal, walks up and down the whole tree of switches.
double obvious_us(const Allocation& allocation, const OrderQuestion& question,
                  const std::vector<int>& order) {
  const SwitchTree& tree = allocation.cluster;
  const Job& job = question.job;
  int ranks = 1;
  for (const Axis& axis : job.axes) ranks *= axis.size;
  std::vector<int> below_switch(tree.switches.size(), 0), level(tree.switches.size(), 0);
  for (const int leaf : tree.leaf)
    for (int s = leaf, l = 0; s >= 0; s = tree.above[s], ++l) {
      ++below_switch[s];
      level[s] = std::max(level[s], l);
    }
  double total = 0;
  for (const Reduction& reduction : job.reductions) {
    std::map<std::pair<int, int>, double> load;  // (switch, or host from -1 on, 0 up or 1 down) -> bytes
    const auto send = [&](int from, int to, double bytes) {
      const int a = from / question.node_ranks, b = to / question.node_ranks;
      if (a == b) return;
      const int host_a = allocation.hosts[order[a]], host_b = allocation.hosts[order[b]];
      load[{-1 - host_a, 0}] += bytes;
      load[{-1 - host_b, 1}] += bytes;
      const auto is_above = [&](int s, int host) {
        for (int x = tree.leaf[host]; x >= 0; x = tree.above[x])
          if (x == s) return true;
        return false;
      };
      for (int s = tree.leaf[host_a]; s >= 0 && !is_above(s, host_b); s = tree.above[s])
        load[{s, 0}] += bytes;
      for (int s = tree.leaf[host_b]; s >= 0 && !is_above(s, host_a); s = tree.above[s])
        load[{s, 1}] += bytes;
    };
    std::map<std::vector<int>, std::vector<int>> groups;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<int> fixed;
      int left = rank;
      for (int a = static_cast<int>(job.axes.size()) - 1; a >= 0; --a) {
        if (std::ranges::find(reduction.axes, a) == reduction.axes.end())
          fixed.push_back(left % job.axes[a].size);
        left /= job.axes[a].size;
      }
      groups[fixed].push_back(rank);
    }
    for (const auto& [fixed, group] : groups) {
      const double k = static_cast<double>(group.size());
      for (std::size_t i = 0; i < group.size(); ++i)
        for (std::size_t j = 0; j < group.size(); ++j) {
          const bool next = j == (i + 1) % group.size();
          switch (reduction.goal) {
            case Goal::AllReduce:
              if (next) send(group[i], group[j], 2 * (k - 1) / k * reduction.bytes);
              break;
            case Goal::ReduceScatter:
            case Goal::AllGather:
              if (next) send(group[i], group[j], (k - 1) / k * reduction.bytes);
              break;
            case Goal::AllToAll:
              send(group[i], group[j], reduction.bytes / k);
              break;
            case Goal::Shift:
              if (j == i + 1) send(group[i], group[j], reduction.bytes);
              break;
          }
        }
    }
    double most = 0;
    for (const auto& [at, bytes] : load) {
      const double taper =
          at.first < 0
              ? 1
              : question.rates
                    .tapers[std::min<std::size_t>(level[at.first], question.rates.tapers.size() - 1)];
      const double gbs =
          at.first < 0 ? question.rates.node_gbs : below_switch[at.first] * question.rates.node_gbs / taper;
      most = std::max(most, bytes / gbs / 1e3);
    }
    total += most * reduction.times;
  }
  return total;
}

std::vector<int> order_in(const Allocation& allocation, const NodeOrder& answer) {
  std::vector<int> order;
  for (const std::string& name : answer.hosts)
    for (int h = 0; h < static_cast<int>(allocation.hosts.size()); ++h)
      if (allocation.cluster.hosts[allocation.hosts[h]] == name) order.push_back(h);
  return order;
}

// Of any order, the bound admits the times of the communications, and it refuses most far shorter ones.
TEST(NodeOrderLong, BoundAdmitsWhatOrdersTake) {
  int refused = 0, do_not_fit = 0;
  for (int seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const int nodes = between(random, 4, 24);
    const Allocation allocation = fragments(random, nodes, 3, 3, 4);
    const NodeMesh mesh = node_mesh(random_job(random, nodes, 1), 1);
    const NodeTree tree = node_tree(allocation, {.node_gbs = 25, .tapers = {2, 6}});
    // A small budget leaves sizes of sets out.
    const OrderBound bound(mesh, tree, seed % 2 == 0 ? 40'000'000 : 20'000);
    std::vector<int> leaves;
    for (int l = 0; l < static_cast<int>(tree.leaves.size()); ++l)
      leaves.insert(leaves.end(), tree.leaves[l].hosts.size(), l);
    for (int order = 0; order < 20; ++order) {
      NodeLoads loads(mesh, tree);
      for (int node = 0; node < nodes; ++node) loads.put(node, leaves[node]);
      std::vector<double> times;
      for (int t = 0; t < static_cast<int>(mesh.traffic.size()); ++t) times.push_back(loads.traffic_us(t));
      EXPECT_TRUE(bound.admits(times));
      EXPECT_LE(bound.us(), loads.time().us * (1 + 1e-9));
      EXPECT_EQ(loads.excess(loads.limits(times)), 0);
      EXPECT_TRUE(order >= 6 || slices_fit(mesh, tree, loads.limits(times), 100'000));
      for (double& us : times) {
        std::vector<double> shorter = times;
        shorter[&us - times.data()] = us * 0.3;
        refused += bound.admits(shorter) ? 0 : 1;
        do_not_fit += order >= 6 || slices_fit(mesh, tree, loads.limits(shorter), 100'000) ? 0 : 1;
      }
      std::ranges::shuffle(leaves, random);
    }
  }
  EXPECT_GT(refused, 400);
  EXPECT_GT(do_not_fit, 20);
}

// Orders that the time alone does not lead to: the bound is met by those within its times, on most fragments.
TEST(NodeOrderLong, MeetsTheBoundOnFragments) {
  int met = 0;
  for (int seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Allocation allocation = fragments(random, 64, 4, 4, 8);
    const OrderQuestion question{
        .job = {.axes = {{"data", 8}, {"expert", 64}},
                .reductions =
                    {{.name = "dispatch", .goal = Goal::AllToAll, .axes = {1}, .bytes = 64e6, .times = 32},
                     {.name = "gradients", .axes = {0}, .bytes = 500e6}}},
        .rates = {.tapers = {4, 16}}};
    const NodeOrder answer = best_order(allocation, question);
    met += answer.proof == "the bound is met" ? 1 : 0;
    EXPECT_LE(answer.bound_us, answer.time.us * (1 + 1e-9));
    const double own = obvious_us(allocation, question, order_in(allocation, answer));
    EXPECT_NEAR(answer.time.us, own, 1e-6 * own);
  }
  EXPECT_GE(met, 3);
}

TEST(NodeOrderLong, AgainstEveryPermutation) {
  for (int seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const int nodes = seed < 29 ? between(random, 2, 6) : 7, node_ranks = between(random, 1, 3);
    const Allocation allocation =
        fragments(random, nodes, between(random, 1, 3), between(random, 1, 3), between(random, 4, 9));
    if (allocation.hosts.size() != static_cast<std::size_t>(nodes)) continue;
    OrderQuestion question{
        .job = random_job(random, nodes, node_ranks),
        .node_ranks = node_ranks,
        .rates = {.node_gbs = 25, .tapers = {1.0 * between(random, 1, 4), 4.0 * between(random, 1, 4)}}};
    const NodeOrder answer = best_order(allocation, question);
    const double own = obvious_us(allocation, question, order_in(allocation, answer));
    EXPECT_NEAR(answer.time.us, own, 1e-6 * own);
    EXPECT_TRUE(answer.proven);
    std::vector<int> order(nodes);
    std::iota(order.begin(), order.end(), 0);
    double least = own;
    int tried = 0;
    do {
      // The fast evaluation stands for the slow one, which judges some of its answers.
      const double us = time_of_order(allocation, question, order).us;
      least = std::min(least, us);
      if (tried++ % 997 == 0) {
        EXPECT_NEAR(us, obvious_us(allocation, question, order), 1e-6 * us);
      }
    } while (std::ranges::next_permutation(order).found);
    EXPECT_NEAR(answer.time.us, least, 1e-6 * least);
    // The bound by itself, without the exhaustive search.
    question.nodes = 0;
    EXPECT_LE(best_order(allocation, question).bound_us, least * (1 + 1e-6));
  }
}

TEST(NodeOrder, RefusesWhatDoesNotFit) {
  std::mt19937 random(1);
  const Allocation allocation = fragments(random, 6, 2, 2, 2);
  OrderQuestion question{
      .job = {.axes = {{"data", 3}, {"tensor", 8}}, .reductions = {{.name = "d", .axes = {0}, .bytes = 1}}},
      .node_ranks = 4};
  EXPECT_TRUE(best_order(allocation, question).proven);
  question.node_ranks = 8;
  EXPECT_THROW(best_order(allocation, question), InputError);
  question.node_ranks = 6;
  EXPECT_THROW(best_order(allocation, question), InputError);
  question.node_ranks = 48;
  EXPECT_THROW(best_order(allocation, question), InputError);
  question.node_ranks = 4;
  question.job.reductions[0].after = std::vector<int>{};
  EXPECT_THROW(best_order(allocation, question), InputError);
}

}  // namespace
}  // namespace chorale
