// Frank and Wolfe's method, class by class: the rounds of a step are the load of its fullest link or limit,
// told smoothly as a norm of all loads; prices are its slope; each class moves some of its chunks to the tree
// that is cheapest. The norm becomes steeper and the moves smaller.
#include "construct/timed_mixture.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "construct/timed_tree.h"

namespace chorale {
namespace {

// Moves of a chunk to a tree, by all classes together, and each class's least and most.
constexpr int kMovesOfAll = 1600;
constexpr int kLeastMoves = 60, kMostMoves = 400;
constexpr double kFirstPower = 4;
constexpr double kLastPower = 40;
// Of what the fullest of its step costs: what is free is not wasted.
constexpr double kLeastPrice = 1e-4;
// A way that is as cheap earlier is of use to more that come after, which who looks for the next rank alone
// does not see: so trees are grown with time as it is and dearer with time, and the cheapest one is taken.
// Without it dgx1 x 2 takes 51 rounds a chunk in 3 steps, and 8.6 with it.
constexpr double kDearerLater[] = {0, 0.1, 0.3, 1};

int moves(int classes) {
  return std::clamp(kMovesOfAll / classes, kLeastMoves, kMostMoves);
}

class Mixing {
 public:
  Mixing(const Topology& topology, const LinkOrbits& orbits, const std::vector<TreeClass>& classes, int steps)
      : topology_(topology),
        orbits_(orbits),
        classes_(classes),
        steps_(steps),
        all_(RankSet::all(topology.ranks)),
        growing_(topology),
        loads_(static_cast<std::size_t>(steps) * orbits.capacities().size()),
        bin_prices_(loads_.size()),
        prices_(topology, steps),
        parts_(classes.size()) {}

  TimedMixture run(Effort& effort) {
    const int turns = moves(static_cast<int>(classes_.size()));
    for (int turn = 0; turn < turns; ++turn) {
      const double share = turn == 0 ? 1 : 2.0 / (turn + 2);
      const double power =
          kFirstPower * std::pow(kLastPower / kFirstPower, static_cast<double>(turn) / turns);
      for (int k = 0; k < std::ssize(classes_); ++k) {
        set_prices(power);
        const long long before = growing_.looks();
        if (!effort.affords(1) || !move(k, share)) return {};
        effort.spend(growing_.looks() - before);
      }
    }
    TimedMixture mixture{.rounds = fullest()};
    for (int k = 0; k < std::ssize(classes_); ++k)
      for (const auto& [tree, chunks] : parts_[k])
        mixture.parts.push_back({.of = k, .chunks = chunks, .sends = tree});
    return mixture;
  }

 private:
  std::size_t bin_at(int step, int bin) const {
    return static_cast<std::size_t>(step) * orbits_.capacities().size() + static_cast<std::size_t>(bin);
  }
  double fullness(int step, int bin) const {
    return loads_[bin_at(step, bin)] / static_cast<double>(orbits_.capacities()[bin]);
  }

  std::vector<double> fullest() const {
    std::vector<double> most(steps_, 0);
    for (int s = 0; s < steps_; ++s)
      for (int b = 0; b < std::ssize(orbits_.capacities()); ++b) most[s] = std::max(most[s], fullness(s, b));
    return most;
  }

  void set_prices(double power) {
    const std::vector<double> most = fullest();
    for (int s = 0; s < steps_; ++s) {
      double sum = 0;
      for (int b = 0; b < std::ssize(orbits_.capacities()); ++b)
        if (most[s] > 0) sum += std::pow(fullness(s, b) / most[s], power);
      const double slope = sum > 0 ? std::pow(sum, 1 / power - 1) : 0;
      for (int b = 0; b < std::ssize(orbits_.capacities()); ++b) {
        const double full = most[s] > 0 ? std::pow(fullness(s, b) / most[s], power - 1) * slope : 0;
        bin_prices_[bin_at(s, b)] = (full + kLeastPrice) / static_cast<double>(orbits_.capacities()[b]);
      }
      for (LinkId l = 0; l < std::ssize(topology_.links); ++l) {
        double sum = 0;
        for (const LinkOrbits::Share& share : orbits_.shares(l))
          sum += share.weight * bin_prices_[bin_at(s, share.bin)];
        prices_.row(l)[s] = sum;
      }
    }
  }

  bool move(int k, double share) {
    TimedSends tree;
    double least = TimedTree::kDearest;
    for (const double later : kDearerLater) {
      prices_.dearer_later(later, tilted_);
      if (!growing_.grow(classes_[k].roots, all_, 0, steps_, false, tilted_, ways_)) return false;
      double cost = 0;
      for (const TimedTree::Way& way : ways_)
        if (way.link >= 0) cost += prices_.at(way.link, way.layer);
      if (cost >= least) continue;
      least = cost;
      tree.clear();
      for (const TimedTree::Way& way : ways_)
        if (way.link >= 0) tree.push_back({.step = way.layer, .link = way.link});
    }
    std::ranges::sort(tree);
    for (auto& [known, chunks] : parts_[k]) {
      load(known, -share * chunks);
      chunks *= 1 - share;
    }
    std::erase_if(parts_[k], [](const auto& part) { return part.second <= 0; });
    const double moved = share * classes_[k].chunks;
    load(tree, moved);
    parts_[k][tree] += moved;
    return true;
  }

  void load(const TimedSends& tree, double chunks) {
    for (const auto& [step, link] : tree)
      for (const LinkOrbits::Share& share : orbits_.shares(link))
        loads_[bin_at(step, share.bin)] += chunks * share.weight;
  }

  const Topology& topology_;
  const LinkOrbits& orbits_;
  const std::vector<TreeClass>& classes_;
  const int steps_;
  const RankSet all_;
  TimedTree growing_;
  std::vector<double> loads_ = {}, bin_prices_ = {};  // by step and bin
  TimedPrices prices_, tilted_ = {};
  std::vector<std::map<TimedSends, double>> parts_ = {};  // by class
  std::vector<TimedTree::Way> ways_ = {};
};

}  // namespace

TimedMixture mix_trees(const Topology& topology, const LinkOrbits& orbits,
                       const std::vector<TreeClass>& classes, int steps, Effort& effort) {
  return Mixing(topology, orbits, classes, steps).run(effort);
}

double looks_of_mixture(const Topology& topology, int classes, int steps) {
  constexpr double kWaysOfTree = 8;  // times that a link is looked at, by all trees of a move
  return kWaysOfTree * static_cast<double>(topology.links.size()) * steps * classes * moves(classes);
}

}  // namespace chorale
