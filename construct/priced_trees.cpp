// A chunk has a root, an in-tree and an out-tree, which need not be the same. No time is looked at: a pipeline that is long
// enough makes of trees that fit side by side a schedule that is as good, so what counts is the load of the fullest link or limit. Trees negotiate (congestion.h):
// each is grown rank by rank by the cheapest link that leaves it, a little dearer the farther from the root; those that
// meet in what is overfull are grown anew at higher prices.
//
// A tree that passes a limit several times pays more each time, since its own sends count while it grows: so of boxes with one NIC each
// none becomes the middle of all of them for many trees, and on dgx1 x 4 the bound of 3/2 rounds a chunk is met by paths over
// the boxes that take turns. Matroid union (spanning_trees.h) is exact and quicker where it can be had; this is for the rest.
#include "construct/priced_trees.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <random>
#include <tuple>
#include <utility>

#include "construct/congestion.h"
#include "construct/effort.h"
#include "construct/link_orbits.h"
#include "construct/spreading.h"

namespace chorale {
namespace {

// Links looked at: about a second.
constexpr long long kMostLooksForPriced = 30'000'000;
constexpr int kTurnsOfPriced = 40;
constexpr int kRootsTried = 2;
constexpr int kMostDifferent = 64;    // trees
constexpr double kDearerAHop = 0.05;  // of what an empty link of one unit costs

class PricedPacking {
 public:
  PricedPacking(const Topology& topology, int trees, Effort& effort)
      : topology_(topology),
        effort_(effort),
        orbits_(topology, identity_),
        out_of_(topology.ranks),
        into_(topology.ranks),
        trees_(trees) {
    for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
      out_of_[topology.links[l].src].push_back(l);
      into_[topology.links[l].dst].push_back(l);
    }
  }

  PricedTrees run(int wanted) {
    Congestion congestion(orbits_, 1, wanted);
    PricedTrees best;
    for (int turn = 0; turn < kTurnsOfPriced; ++turn) {
      for (Grown& tree : trees_) {
        const auto meets = [&](LinkId l) { return congestion.overfull(l, 0); };
        if (turn > 0 && std::ranges::none_of(tree.links, meets) && random_() % 8 != 0) continue;
        if (!best.trees.empty() && !effort_.affords(1)) return best;
        grow_anew(tree, congestion);
      }
      if (const int rounds = rounds_now(); best.trees.empty() || rounds < best.rounds)
        best = {.rounds = rounds, .trees = hung()};
      if (best.rounds <= wanted) break;
      congestion.raise();
    }
    return best;
  }

 private:
  struct Grown {
    std::vector<LinkId> up = {}, down = {};  // by rank, to and from the one above; -1 at the root
    std::vector<LinkId> links = {};          // all of them
  };
  struct Offer {
    double cost = 0;
    LinkId link = 0;
    int depth = 0;
    bool operator<(const Offer& other) const {  // the dearest first, as a heap has it
      return std::tuple(cost, depth, link) > std::tuple(other.cost, other.depth, other.link);
    }
  };

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void grow_anew(Grown& tree, Congestion& congestion) {
    for (LinkId l : tree.links) congestion.add(l, 0, -1);
    double least = std::numeric_limits<double>::infinity();
    for (int tries = 0; tries < kRootsTried; ++tries) {
      const Rank root = below(topology_.ranks);
      Grown grown;
      const double cost = grow(root, true, congestion, grown.up, grown.links) +
                          grow(root, false, congestion, grown.down, grown.links);
      for (LinkId l : grown.links) congestion.add(l, 0, -1);
      if (cost >= least) continue;
      least = cost;
      tree = std::move(grown);
    }
    for (LinkId l : tree.links) congestion.add(l, 0, 1);
  }

  // Prim's, where prices rise as it goes. What it costs; its links are added to the load.
  double grow(Rank root, bool backwards, Congestion& congestion, std::vector<LinkId>& over,
              std::vector<LinkId>& links) {
    over.assign(topology_.ranks, -1);
    std::vector<bool> reached(topology_.ranks, false);
    std::priority_queue<Offer> offers;
    double sum = 0;
    const auto price = [&](LinkId l, int depth) { return congestion.price(l, 0) + kDearerAHop * depth; };
    const auto end = [&](LinkId l) { return backwards ? topology_.links[l].src : topology_.links[l].dst; };
    const auto take = [&](Rank n, int depth) {
      reached[n] = true;
      const std::vector<LinkId>& ways = backwards ? into_[n] : out_of_[n];
      effort_.spend(std::ssize(ways));
      for (LinkId l : ways)
        if (!reached[end(l)]) offers.push({.cost = price(l, depth + 1), .link = l, .depth = depth + 1});
    };
    take(root, 0);
    while (!offers.empty()) {
      Offer offer = offers.top();
      offers.pop();
      const Rank n = end(offer.link);
      if (reached[n]) continue;
      if (const double now = price(offer.link, offer.depth); now > offer.cost) {
        offer.cost = now;
        offers.push(offer);
        continue;
      }
      sum += offer.cost;
      over[n] = offer.link;
      links.push_back(offer.link);
      congestion.add(offer.link, 0, 1);
      take(n, offer.depth);
    }
    return sum;
  }

  int rounds_now() const {
    Step all;
    for (const Grown& tree : trees_)
      for (LinkId l : tree.links) all.sends.push_back({.link = l});
    return needed_rounds(topology_, all);
  }

  std::vector<SumTree> hung() const {
    std::vector<SumTree> trees;
    for (const Grown& tree : trees_) {
      SumTree& hung = trees.emplace_back();
      for (LinkId l : tree.up) hung.up.push_back(l < 0 ? -1 : topology_.links[l].dst);
      for (LinkId l : tree.down) hung.down.push_back(l < 0 ? -1 : topology_.links[l].src);
    }
    return trees;
  }

  const Topology& topology_;
  Effort& effort_;
  const std::vector<std::vector<Rank>> identity_ = identity_alone(topology_.ranks);
  const LinkOrbits orbits_;
  std::vector<std::vector<LinkId>> out_of_, into_;
  std::vector<Grown> trees_;
  std::mt19937 random_{1};
};

bool all_reach_all(const Topology& topology) {
  const auto reaches_all = [](const Topology& t) {
    return std::ranges::none_of(hops(t, {0}), [](int distance) { return distance < 0; });
  };
  return reaches_all(topology) && reaches_all(reversed(topology));
}

}  // namespace

PricedTrees priced_trees(const Topology& topology, int trees, int wanted, const std::atomic<bool>* stop) {
  Effort effort(kMostLooksForPriced, stop);
  return PricedPacking(topology, trees, effort).run(wanted);
}

std::vector<Schedule> sum_on_priced_trees(const Topology& topology, const Collective& collective,
                                          const std::function<int()>& bound, const std::atomic<bool>* stop) {
  if (collective.kind != CollectiveKind::AllReduce || topology.ranks < 2 || !all_reach_all(topology))
    return {};
  const int chunks = static_cast<int>(collective.chunks.size()), least = bound();
  Effort effort(kMostLooksForPriced, stop);
  PricedTrees best;
  const auto rounds_of_all = [&](int rounds, int trees) {
    return static_cast<long long>(rounds) * (chunks / trees);
  };
  for (int trees = 1; trees <= std::min(chunks, kMostDifferent); ++trees) {
    if (chunks % trees != 0) continue;
    // Fewer rounds than their share of the bound cannot be.
    const auto wanted = static_cast<int>((static_cast<long long>(least) * trees + chunks - 1) / chunks);
    const auto known = [&] { return rounds_of_all(best.rounds, static_cast<int>(best.trees.size())); };
    if (!best.trees.empty() && rounds_of_all(std::max(1, wanted), trees) >= known()) continue;
    if (!effort.affords(1)) break;
    PricedTrees found = PricedPacking(topology, trees, effort).run(std::max(1, wanted));
    if (best.trees.empty() || rounds_of_all(found.rounds, trees) < known()) best = std::move(found);
    if (known() <= least) break;
  }
  if (best.trees.empty()) return {};
  return pipelines(topology, best.trees, chunks, best.rounds, stop);
}

}  // namespace chorale
