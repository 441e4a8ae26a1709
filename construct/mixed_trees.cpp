// The idea: how wide steps should be, and which trees are good together, is a question about shares, which is
// easy (timed_mixture.h); then each chunk takes one of the trees that were mixed, or another, and they
// negotiate (congestion.h) for fewer and fewer rounds.
//
// Growth depth by depth (tree_growth.h) asks whether what is left can still come to every rank by itself:
// over time, too, that does not see that what comes in late cannot be spread any more to several ranks at
// once, and it has no say in how wide a step is best. On dgx1 x 2 it has nothing, and negotiation alone, from
// steps of equal width (timed_trees.h), comes to 13.5 rounds a chunk in 3 steps; here they are 8.8, where
// shares say 8.6.
//
// Invariant: trees_ are always a whole schedule; what is negotiated in vain is given up.
#include "construct/mixed_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "construct/congestion.h"
#include "construct/effort.h"
#include "construct/families.h"
#include "construct/link_orbits.h"
#include "construct/spreading.h"
#include "construct/timed_mixture.h"
#include "construct/timed_tree.h"
#include "symmetry/digit_shifts.h"

namespace chorale {
namespace {

// Links looked at: by one mixture, by all of them, and by what negotiates for so many steps.
constexpr double kMostLooksOfMixture = 6e7;
constexpr long long kMostLooksOfMixing = 140'000'000;
constexpr long long kMostLooksToTell = 15'000'000;
// What whole chunks are asked for, at least, in what shares have: these are not the best that there are.
constexpr double kHoped = 0.98;
constexpr int kFewClasses = 4;
constexpr int kStepsAlone = 4;     // for which a mixture without a group must be affordable
constexpr int kMoreSteps = 10;     // than the farthest rank has hops
constexpr double kNear = 1.05;     // what is known in rounds of the bound: little is to be found
constexpr int kMisses = 2;         // numbers of steps without anything better
constexpr int kMostFailures = 2;   // to come to a round less
constexpr int kMostLookedAt = 64;  // trees that were mixed, each time that one is chosen
constexpr int kTurnsToTell = 60;
constexpr int kPatienceToTell = 10;  // turns without less that is over
constexpr double kDearerLaterAnew = 0.3;

// Chunks that start in the same ranks, with the trees that were mixed for them.
struct Family {
  std::vector<Chunk> chunks = {};
  int of = 0;       // class of the mixture
  int element = 0;  // of the group, that carries the class here
  std::vector<TimedSends> mixed = {};
};

class WholeTrees {
 public:
  // A tree for each of `roots`, with what it may be besides.
  struct Choice {
    RankSet roots = {};
    const std::vector<TimedSends>* mixed = nullptr;
  };

  WholeTrees(const Topology& topology, int steps, std::vector<Choice> choices, Effort& effort)
      : topology_(topology),
        steps_(steps),
        choices_(std::move(choices)),
        effort_(effort),
        orbits_(topology, identity_),
        growing_(topology),
        prices_(topology, steps) {}

  // Of fewer and fewer rounds, at once of so few as are hoped for, and until `least`; from these trees on.
  std::vector<TimedSends> tightened(std::vector<TimedSends> trees, int hoped, int least) {
    trees_ = std::move(trees);
    std::vector<int> rounds = needed();
    int less = std::max(1, total(rounds) - hoped), failures = 0;
    while (total(rounds) > least && failures < kMostFailures && effort_.affords(1)) {
      less = std::min(less, total(rounds) - least);
      const std::vector<TimedSends> before = trees_;
      Congestion congestion(orbits_, rounds);
      for (const TimedSends& tree : trees_) change(congestion, tree, 1);
      for (int i = 0; i < less; ++i) congestion.narrow();
      if (negotiate(congestion)) {
        rounds = needed();
        less *= 2;
        continue;
      }
      trees_ = before;
      failures += less == 1;
      less = std::max(1, less / 2);
    }
    return std::move(trees_);
  }

 private:
  static int total(const std::vector<int>& rounds) {
    return std::accumulate(rounds.begin(), rounds.end(), 0);
  }

  static void change(Congestion& congestion, const TimedSends& tree, int by) {
    for (const TimedSend& send : tree) congestion.add(send.link, send.step, by);
  }

  std::vector<int> needed() const {
    Schedule all{.steps = std::vector<Step>(steps_)};
    for (const TimedSends& tree : trees_)
      for (const TimedSend& send : tree) all.steps[send.step].sends.push_back({.link = send.link});
    std::vector<int> rounds;
    for (const Step& step : all.steps)
      rounds.push_back(step.sends.empty() ? 0 : needed_rounds(topology_, step));
    return rounds;
  }

  // Until nothing is over, or for some turns nothing less.
  bool negotiate(Congestion& congestion) {
    std::vector<int> order(trees_.size());
    std::iota(order.begin(), order.end(), 0);
    long long least = std::numeric_limits<long long>::max();
    for (int turn = 0, least_in = 0; turn < kTurnsToTell; ++turn) {
      const long long over = congestion.overflow();
      if (over == 0) return true;
      if (over < least) {
        least = over;
        least_in = turn;
      }
      if (turn - least_in > kPatienceToTell) return false;
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
      for (int t : order) {
        if (std::ranges::none_of(
                trees_[t], [&](const TimedSend& send) { return congestion.overfull(send.link, send.step); }))
          continue;
        if (!effort_.affords(1)) return false;
        change(congestion, trees_[t], -1);
        const double cost = choose(t, congestion);
        if (turn % 2 == 1) grow_anew(t, congestion, cost);
        change(congestion, trees_[t], 1);
      }
      congestion.raise();
      if (turn % 4 == 3) congestion.move_round();
    }
    return congestion.fits();
  }

  // The cheapest of those that were mixed.
  double choose(int t, const Congestion& congestion) {
    double least = TimedTree::kDearest;
    const std::vector<TimedSends>& mixed = *choices_[t].mixed;
    const TimedSends* cheapest = nullptr;
    const std::size_t each = mixed.size() / kMostLookedAt + 1;
    for (std::size_t i = random_() % std::min(each, mixed.size()); i < mixed.size(); i += each) {
      const TimedSends& tree = mixed[i];
      double cost = 0;
      std::size_t looks = 0;
      for (; looks < tree.size() && cost < least; ++looks)
        cost += congestion.price(tree[looks].link, tree[looks].step);
      effort_.spend(static_cast<long long>(looks));
      if (cost >= least) continue;
      least = cost;
      cheapest = &tree;
    }
    trees_[t] = *cheapest;
    return least;
  }

  // Another, if that is cheaper.
  void grow_anew(int t, const Congestion& congestion, double least) {
    for (LinkId l = 0; l < std::ssize(topology_.links); ++l)
      for (int s = 0; s < steps_; ++s) prices_.row(l)[s] = congestion.price(l, s);
    const long long before = growing_.looks();
    for (const double later : {0.0, kDearerLaterAnew}) {
      prices_.dearer_later(later, tilted_);
      if (!growing_.grow(choices_[t].roots, RankSet::all(topology_.ranks), 0, steps_, false, tilted_, ways_))
        continue;
      double cost = 0;
      for (const TimedTree::Way& way : ways_)
        if (way.link >= 0) cost += prices_.at(way.link, way.layer);
      if (cost >= least) continue;
      least = cost;
      trees_[t].clear();
      for (const TimedTree::Way& way : ways_)
        if (way.link >= 0) trees_[t].push_back({.step = way.layer, .link = way.link});
    }
    effort_.spend(growing_.looks() - before + std::ssize(topology_.links) * steps_);
  }

  const Topology& topology_;
  const int steps_;
  const std::vector<Choice> choices_;
  Effort& effort_;
  const std::vector<std::vector<Rank>> identity_ = identity_alone(topology_.ranks);
  const LinkOrbits orbits_;
  TimedTree growing_;
  std::vector<TimedSends> trees_ = {};
  TimedPrices prices_, tilted_ = {};
  std::vector<TimedTree::Way> ways_ = {};
  std::mt19937 random_{1};
};

// Classes are fewer under a group, and mixed sooner; but of one or two of them few different trees are mixed,
// and whole chunks want a choice: with the group of dgx-a100:2, 13 chunks take 21 rounds in 2 steps, and 20
// without, which is the bound.
std::vector<std::vector<Rank>> group_for(const Topology& topology, const Collective& collective) {
  std::vector<std::vector<Rank>> alone = identity_alone(topology.ranks);
  if (collective.kind != CollectiveKind::Allgather) return alone;
  std::vector<std::vector<Rank>> group = digit_shifts(topology);
  const bool few = topology.ranks / static_cast<int>(group.size()) < kFewClasses;
  return few && looks_of_mixture(topology, topology.ranks, kStepsAlone) <= kMostLooksOfMixture ? alone
                                                                                               : group;
}

class TreeMixing {
 public:
  TreeMixing(const Topology& topology, const Collective& collective, const std::atomic<bool>* stop)
      : topology_(topology),
        collective_(collective),
        group_(group_for(topology, collective)),
        orbits_(topology, group_),
        effort_(kMostLooksOfMixing, stop),
        stop_(stop) {
    for (std::vector<Chunk>& chunks : starting_together(collective)) {
      together_ = std::gcd(together_, static_cast<int>(chunks.size()));
      families_.push_back({.chunks = std::move(chunks)});
    }
    find_classes();
  }

  int fewest_steps() const {
    int most = 0;
    for (const TreeClass& c : classes_) most = std::max(most, std::ranges::max(hops(topology_, c.roots)));
    return most;
  }

  bool affords(int steps) const {
    const double looks = looks_of_mixture(topology_, static_cast<int>(classes_.size()), steps);
    return looks <= kMostLooksOfMixture && effort_.affords(static_cast<long long>(looks));
  }

  // Better than so many rounds; none if that does not come of it.
  std::optional<Schedule> tell(int steps, int least, int known) {
    const TimedMixture mixture = mix_trees(topology_, orbits_, classes_, steps, effort_);
    if (mixture.parts.empty()) return std::nullopt;
    const double hoped =
        kHoped * std::accumulate(mixture.rounds.begin(), mixture.rounds.end(), 0.0) * together_;
    if (hoped > known - 1) return std::nullopt;
    for (Family& family : families_) carry(mixture, family);
    Effort effort(kMostLooksToTell, stop_);
    std::vector<WholeTrees::Choice> choices;
    std::vector<TimedSends> first;
    for (const Family& family : families_) tell_first(mixture, family, choices, first);
    WholeTrees whole(topology_, steps, std::move(choices), effort);
    Schedule schedule = as_schedule(
        whole.tightened(std::move(first), static_cast<int>(std::ceil(hoped - 1e-9)), least), steps);
    if (effort_.stopped() || total_rounds(schedule) >= known) return std::nullopt;
    return schedule;
  }

 private:
  // Families that the group carries to each other are one class.
  void find_classes() {
    std::vector<int> class_of(topology_.ranks, -1), element_of(topology_.ranks, 0);
    for (Family& family : families_) {
      const RankSet& roots = collective_.chunks[family.chunks.front()].pre;
      if (group_.size() > 1 && class_of[roots.front()] >= 0) {
        family.of = class_of[roots.front()];
        family.element = element_of[roots.front()];
        continue;
      }
      family.of = static_cast<int>(classes_.size());
      for (int g = 0; g < std::ssize(group_) && group_.size() > 1; ++g) {
        class_of[group_[g][roots.front()]] = family.of;
        element_of[group_[g][roots.front()]] = g;
      }
      classes_.push_back({.roots = roots, .chunks = static_cast<int>(std::ssize(family.chunks)) / together_});
    }
  }

  void carry(const TimedMixture& mixture, Family& family) const {
    family.mixed.clear();
    for (const TimedMixture::Part& part : mixture.parts) {
      if (part.of != family.of) continue;
      TimedSends& image = family.mixed.emplace_back();
      for (const TimedSend& send : part.sends)
        image.push_back({.step = send.step, .link = orbits_.image(send.link, family.element)});
    }
  }

  // As many of each tree as its share is, or one more; which ones these are differs along the orbit, so that
  // what is too much here is too little there.
  void tell_first(const TimedMixture& mixture, const Family& family, std::vector<WholeTrees::Choice>& choices,
                  std::vector<TimedSends>& first) const {
    const int wanted = classes_[family.of].chunks * together_;
    const double offset = (family.element + 0.5) / static_cast<double>(group_.size());
    double sum = 0;
    int number = 0, mixed = 0;
    for (const TimedMixture::Part& part : mixture.parts) {
      if (part.of != family.of) continue;
      sum += part.chunks * together_;
      for (; number < wanted && number + offset < sum; ++number) first.push_back(family.mixed[mixed]);
      ++mixed;
    }
    for (; number < wanted; ++number) first.push_back(family.mixed.back());
    for (int i = 0; i < wanted; ++i)
      choices.push_back({.roots = collective_.chunks[family.chunks.front()].pre, .mixed = &family.mixed});
  }

  Schedule as_schedule(const std::vector<TimedSends>& trees, int steps) const {
    Schedule schedule{.steps = std::vector<Step>(steps)};
    std::size_t first = 0;
    for (const Family& family : families_) {
      const std::size_t own = static_cast<std::size_t>(classes_[family.of].chunks) * together_;
      for (std::size_t i = 0; i < family.chunks.size(); ++i)
        for (const TimedSend& send : trees[first + i % own])
          schedule.steps[send.step].sends.push_back({.chunk = family.chunks[i], .link = send.link});
      first += own;
    }
    std::erase_if(schedule.steps, [](const Step& step) { return step.sends.empty(); });
    for (Step& step : schedule.steps) {
      std::ranges::sort(step.sends);
      step.rounds = needed_rounds(topology_, step);
    }
    return schedule;
  }

  const Topology& topology_;
  const Collective& collective_;
  const std::vector<std::vector<Rank>> group_;
  const LinkOrbits orbits_;
  Effort effort_;
  const std::atomic<bool>* stop_;
  int together_ = 0;  // chunks of each family, in the greatest unit
  std::vector<Family> families_ = {};
  std::vector<TreeClass> classes_ = {};
};

int fewest_of(const std::vector<Schedule>& known, int steps) {
  int rounds = std::numeric_limits<int>::max();
  for (const Schedule& schedule : known)
    if (std::ssize(schedule.steps) <= steps) rounds = std::min(rounds, total_rounds(schedule));
  return rounds;
}

}  // namespace

std::vector<Schedule> mixed_trees(const Topology& topology, const Collective& collective,
                                  const std::vector<Schedule>& known, const std::function<int()>& bound,
                                  const std::atomic<bool>* stop) {
  if ((stop != nullptr && *stop) || !copies_to_all(topology, collective)) return {};
  TreeMixing mixing(topology, collective, stop);
  const int fewest = mixing.fewest_steps();
  std::vector<Schedule> found;
  // In one step there is nothing to be chosen.
  for (int steps = std::max(2, fewest), misses = 0; steps <= fewest + kMoreSteps && misses < kMisses;
       steps += steps / 6 + 1) {
    const int best = std::min(fewest_of(known, steps), fewest_of(found, steps));
    if (!mixing.affords(steps)) break;
    const int least = bound();
    if (best <= kNear * least) break;
    std::optional<Schedule> better = mixing.tell(steps, least, best);
    misses = better ? 0 : misses + 1;
    if (better) keep_undominated(found, std::move(*better));
  }
  return stop != nullptr && *stop ? std::vector<Schedule>{} : found;
}

}  // namespace chorale
