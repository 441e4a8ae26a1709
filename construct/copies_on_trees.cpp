// Trees negotiate for links as those of sums do (priced_trees.h), but from where their chunks start. What is wanted here is more: the
// fullest cut must be as full as the bound says, and what is inside it empty enough that what comes late can still be
// spread. So a link's price rises with its load from the beginning, as a power of it, and not only where it is overfull
// (as routing online has it: Aspnes et al. 1997); and trees go on to change after they fit.
#include "construct/copies_on_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <tuple>
#include <utility>

#include "bounds/cuts.h"
#include "bounds/demand.h"
#include "construct/effort.h"
#include "construct/families.h"
#include "construct/link_orbits.h"
#include "construct/spreading.h"

namespace chorale {
namespace {

// Links looked at, by all numbers of trees together: about a second; and by growing each tree once.
constexpr long long kMostLooksForCopies = 10'000'000;
constexpr double kMostLooksOnce = 2e6;
constexpr int kTurnsOfCopies = 24;
constexpr int kTurnsToSpread = 3;  // after all fits
// Many different trees end in many ranks, so that what comes last is spread by all of them: dgx2 x 2 within 1 % in 8 steps, and in 17 with a
// tree for each rank. Few trees meet a bound more easily.
constexpr int kManyTrees = 512;
// Steeper, trees take turns better and are higher. Hops cost a little, and so does what is empty, so that trees
// are low: with a tenth of it dgx1 x 4 takes 390 steps to 1 %, and not 20.
constexpr double kSteepest = 6;
constexpr double kHopsOfCopies[] = {1.0, 0.3, 0.1};  // the dearest with which trees fit
constexpr double kIdle = 0.2;                        // price of an empty link, in that of a full one
constexpr double kRaised = 0.5;                      // of what is over, from turn to turn

class CopyPacking {
 public:
  CopyPacking(const Topology& topology, const std::vector<RankSet>& roots, double hop, Effort& effort)
      : topology_(topology),
        hop_(hop),
        effort_(effort),
        orbits_(topology, identity_),
        out_of_(topology.ranks),
        roots_(roots),
        over_(roots_.size()) {
    for (LinkId l = 0; l < std::ssize(topology.links); ++l) out_of_[topology.links[l].src].push_back(l);
  }

  // By tree and rank the link that comes from above.
  int run(int wanted, std::vector<std::vector<LinkId>>& best) {
    wanted_ = wanted;
    bins_.clear();
    for (long long capacity : orbits_.capacities())
      bins_.push_back({.room = static_cast<double>(capacity * wanted)});
    int fewest = std::numeric_limits<int>::max(), fitting = 0;
    std::vector<std::size_t> order(roots_.size());
    std::iota(order.begin(), order.end(), 0);
    for (int turn = 0; turn < kTurnsOfCopies && fitting < kTurnsToSpread; ++turn) {
      steep_ = std::min(kSteepest, 2.0 + turn);
      for (Bin& bin : bins_) renew(bin);
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
      for (std::size_t t : order) {
        if (fewest < std::numeric_limits<int>::max() && !effort_.affords(1)) return fewest;
        for (LinkId l : over_[t])
          if (l >= 0) add(l, -1);
        grow(t);
      }
      const int rounds = rounds_now();
      if (rounds < fewest || (rounds == fewest && rounds <= wanted)) {
        fewest = rounds;
        best = over_;
      }
      fitting += rounds <= wanted;
      for (Bin& bin : bins_)
        if (bin.load > bin.room) bin.history += kRaised * (bin.load - bin.room) / bin.room;
    }
    return fewest;
  }

 private:
  struct Bin {
    double room = 1;
    double load = 0;
    double history = 0;
    double price = 0;  // of one more
  };
  struct Offer {
    double cost = 0;
    LinkId link = 0;
    int depth = 0;
    bool operator<(const Offer& other) const {  // the dearest first, as a heap has it
      return std::tuple(cost, depth, link) > std::tuple(other.cost, other.depth, other.link);
    }
  };

  void renew(Bin& bin) const {
    bin.price = (kIdle + bin.history + std::pow((bin.load + 1) / bin.room, steep_)) / bin.room;
  }
  void add(LinkId l, int by) {
    for (const LinkOrbits::Share& s : orbits_.shares(l)) {
      bins_[s.bin].load += by * s.weight;
      renew(bins_[s.bin]);
    }
  }
  double price(LinkId l, int depth) const {
    double sum = 0;
    for (const LinkOrbits::Share& s : orbits_.shares(l)) sum += s.weight * bins_[s.bin].price;
    return sum * (1 + hop_ * depth);
  }

  // Prim's, where prices rise as it goes.
  void grow(std::size_t t) {
    std::vector<LinkId>& over = over_[t];
    over.assign(topology_.ranks, -1);
    std::vector<bool> reached(topology_.ranks, false);
    std::priority_queue<Offer> offers;
    const auto take = [&](Rank n, int depth) {
      reached[n] = true;
      effort_.spend(std::ssize(out_of_[n]));
      for (LinkId l : out_of_[n])
        if (!reached[topology_.links[l].dst])
          offers.push({.cost = price(l, depth + 1), .link = l, .depth = depth + 1});
    };
    for (Rank root : roots_[t]) reached[root] = true;
    for (Rank root : roots_[t]) take(root, 0);
    while (!offers.empty()) {
      Offer offer = offers.top();
      offers.pop();
      const Rank n = topology_.links[offer.link].dst;
      if (reached[n]) continue;
      if (const double now = price(offer.link, offer.depth); now > offer.cost) {
        offer.cost = now;
        offers.push(offer);
        continue;
      }
      over[n] = offer.link;
      add(offer.link, 1);
      take(n, offer.depth);
    }
  }

  int rounds_now() const {
    double most = 0;
    for (const Bin& bin : bins_) most = std::max(most, bin.load / bin.room);
    return static_cast<int>(std::ceil(most * wanted_ - 1e-9));
  }

  const Topology& topology_;
  const double hop_;  // price of a step of depth, in that of a link
  Effort& effort_;
  const std::vector<std::vector<Rank>> identity_ = identity_alone(topology_.ranks);
  const LinkOrbits orbits_;
  std::vector<std::vector<LinkId>> out_of_;
  const std::vector<RankSet>& roots_;      // by tree
  std::vector<std::vector<LinkId>> over_;  // by tree and rank
  std::vector<Bin> bins_ = {};
  int wanted_ = 1;
  double steep_ = 1;
  std::mt19937 random_{1};
};

}  // namespace

CopyTrees copy_trees(const Topology& topology, const Collective& collective, int rounds, int least_trees,
                     const std::atomic<bool>* stop) {
  const std::vector<std::vector<Chunk>> classes = starting_together(collective);
  int together = 0;  // chunks of each class that can take one tree
  for (const std::vector<Chunk>& chunks : classes)
    together = std::gcd(together, static_cast<int>(chunks.size()));
  Effort effort(kMostLooksForCopies, stop);
  CopyTrees found;
  const auto known = [&] { return static_cast<long long>(found.rounds) * found.takers; };
  for (int takers = together; takers >= 1; --takers) {
    const auto trees = std::ssize(collective.chunks) / takers;
    if (together % takers != 0 || (takers > 1 && trees < least_trees)) continue;
    if (!found.trees.empty() && (trees > 2 * kManyTrees || !effort.affords(1))) break;
    const int wanted = std::max(1, (rounds + takers - 1) / takers);
    if (!found.trees.empty() && static_cast<long long>(wanted) * takers >= known()) continue;
    std::vector<RankSet> roots;
    std::vector<int> tree_of(collective.chunks.size());
    for (const std::vector<Chunk>& chunks : classes) {
      const int first = static_cast<int>(roots.size()), own = static_cast<int>(std::ssize(chunks)) / takers;
      for (std::size_t i = 0; i < chunks.size(); ++i) tree_of[chunks[i]] = first + static_cast<int>(i) % own;
      roots.insert(roots.end(), own, collective.chunks[chunks.front()].pre);
    }
    std::vector<std::vector<LinkId>> over;
    int needed = std::numeric_limits<int>::max();
    for (const double hop : kHopsOfCopies) {
      std::vector<std::vector<LinkId>> lower;
      const int rounds_needed = CopyPacking(topology, roots, hop, effort).run(wanted, lower);
      if (rounds_needed < needed) {
        needed = rounds_needed;
        over = std::move(lower);
      }
      if (needed <= wanted || !effort.affords(1)) break;
    }
    if (!found.trees.empty() && static_cast<long long>(needed) * takers >= known()) continue;
    found = {.rounds = needed, .takers = takers, .tree_of = std::move(tree_of)};
    for (const std::vector<LinkId>& links : over) {
      SumTree& tree = found.trees.emplace_back();
      for (LinkId l : links) tree.down.push_back(l < 0 ? -1 : topology.links[l].src);
    }
    if (known() <= rounds) break;
  }
  return found;
}

std::vector<Schedule> copies_on_trees(const Topology& topology, const Collective& collective,
                                      const std::vector<Schedule>& known, const std::function<int()>& bound,
                                      const std::atomic<bool>* stop) {
  const double looks =
      static_cast<double>(collective.chunks.size()) * static_cast<double>(topology.links.size());
  if (std::min(looks, static_cast<double>(topology.links.size()) * topology.ranks) > kMostLooksOnce ||
      !copies_to_all(topology, collective))
    return {};
  const int least = bound();
  if (std::ranges::any_of(known, [&](const Schedule& s) { return total_rounds(s) <= least; })) return {};
  const std::optional<PriceBound> cut = tightest_cut(topology, wanted_classes(collective));
  if (!cut) return {};
  std::vector<Schedule> schedules;
  for (int least_trees : {1, kManyTrees}) {
    if (least_trees > 1 && looks > kMostLooksForCopies) break;
    const CopyTrees found = copy_trees(topology, collective, rounds_shown(*cut), least_trees, stop);
    for (Schedule& schedule : copy_pipelines(topology, found.trees, found.tree_of, stop))
      keep_undominated(schedules, std::move(schedule));
    if (stop != nullptr && *stop) return {};
  }
  return schedules;
}

}  // namespace chorale
