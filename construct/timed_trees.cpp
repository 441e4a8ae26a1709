// A chunk that is added up has a rank and a time where it is whole; one that is copied is where it starts. From there it grows
// a tree forwards in time, and one backwards over links turned round (timed_tree.h). Trees of all chunks negotiate
// (congestion.h): those that meet in what is overfull are grown anew, from other ranks and times, too.
//
// Trees that are packed first and filled in a pipeline (tree_pipeline.h) need more steps for the same rounds: on torus:4x4
// with a failed link 31 chunks in 8 steps take 22 rounds here, and 35 there. With a hundred turns more it is not much better.
#include "construct/timed_trees.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <random>

#include "construct/congestion.h"
#include "construct/effort.h"
#include "construct/link_orbits.h"
#include "construct/spreading.h"
#include "construct/timed_tree.h"

namespace chorale {
namespace {

// Links looked at, by all tries together, and by one.
constexpr long long kMostLooksForTrees = 120'000'000;
constexpr long long kMostLooksForOne = kMostLooksForTrees / 8;
constexpr int kTurnsOfTrees = 50;
constexpr double kMostLooksOfTurn = 1e7;
// What is copied has other ways to good schedules (tree_growth.h, copies_on_trees.h): on 64 ranks this took two thirds of the time, and what
// it found with several chunks one chunk had, too.
constexpr long long kMostLooksForCopying = 50'000'000;
constexpr double kMostLooksOfCopies = 2.5e6;
constexpr int kPatience = 16;  // turns without less that is over
constexpr int kFailuresOfSteps = 2;
constexpr int kMoreForNarrow =
    8;  // steps: behind one NIC all is a hop away, and should come in one after the other
constexpr int kPlacesTried = 3;         // ranks and times, each time that a tree is grown anew
constexpr int kNothingKnown = 1 << 28;  // rounds

struct TreeSends {
  struct Send {
    int step = 0;
    LinkId link = 0;
    bool reduce = false;
  };
  std::vector<Send> sends = {};
};

class TreeFitting {
 public:
  TreeFitting(const Topology& topology, const Collective& collective)
      : topology_(topology),
        collective_(collective),
        orbits_(topology, identity_),
        growing_(topology),
        trees_(collective.chunks.size()) {
    const Topology turned = reversed(topology);
    for (Rank n = 0; n < topology.ranks; ++n) {
      to_all_.push_back(farthest_from(topology, n));
      from_all_.push_back(farthest_from(turned, n));
    }
  }

  // Nothing where a rank cannot be reached.
  std::optional<int> fewest_steps() const {
    int least = std::numeric_limits<int>::max(), most = 0;
    for (Rank n = 0; collective_.combining && n < topology_.ranks; ++n) {
      if (to_all_[n] < 0 || from_all_[n] < 0) return std::nullopt;
      least = std::min(least, to_all_[n] + from_all_[n]);
    }
    if (collective_.combining) return least;
    for (std::size_t c = 0; c < collective_.chunks.size(); ++c) {
      if (c > 0 && collective_.chunks[c].pre == collective_.chunks[c - 1].pre) continue;
      const std::vector<int> distance = hops(topology_, collective_.chunks[c].pre);
      if (std::ranges::min(distance) < 0) return std::nullopt;
      most = std::max(most, std::ranges::max(distance));
    }
    return most;
  }

  // Links that a turn looks at, about.
  double looks_of_turn(int steps) const {
    return static_cast<double>(trees_.size()) * static_cast<double>(topology_.links.size()) * steps * 2 *
           (collective_.combining ? kPlacesTried : 1);
  }

  std::optional<Schedule> fit(int steps, int rounds, unsigned seed, Effort& effort) {
    steps_ = steps;
    random_.seed(seed);
    const long long before = growing_.looks();
    const bool fits = negotiate(rounds, before, effort);
    effort.spend(growing_.looks() - before);
    if (!fits) return std::nullopt;
    Schedule schedule{.steps = std::vector<Step>(steps)};
    for (Chunk c = 0; c < std::ssize(trees_); ++c)
      for (const TreeSends::Send& send : trees_[c].sends)
        schedule.steps[send.step].sends.push_back({.chunk = c, .link = send.link, .reduce = send.reduce});
    std::erase_if(schedule.steps, [](const Step& step) { return step.sends.empty(); });
    for (Step& step : schedule.steps) {
      std::ranges::sort(step.sends);
      step.rounds = needed_rounds(topology_, step);
    }
    return schedule;
  }

 private:
  static int farthest_from(const Topology& topology, Rank n) {
    const std::vector<int> distance = hops(topology, {n});
    return std::ranges::min(distance) < 0 ? -1 : std::ranges::max(distance);
  }

  bool negotiate(int rounds, long long before, const Effort& effort) {
    Congestion congestion(orbits_, steps_, rounds);
    std::vector<TreeSends*> order;
    for (TreeSends& tree : trees_) {
      tree.sends.clear();
      order.push_back(&tree);
    }
    const auto change = [&](const TreeSends& tree, int by) {
      for (const TreeSends::Send& send : tree.sends) congestion.add(send.link, send.step, by);
    };
    long long least = std::numeric_limits<long long>::max();
    int least_in = 0;
    for (int turn = 0; turn < kTurnsOfTrees; ++turn) {
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
      for (TreeSends* tree : order) {
        const bool meets = std::ranges::any_of(tree->sends, [&](const TreeSends::Send& send) {
          return congestion.overfull(send.link, send.step);
        });
        if (turn > 0 && !meets && random_() % 8 != 0) continue;
        const long long looks = growing_.looks() - before;
        if (looks > kMostLooksForOne || !effort.affords(looks)) return false;
        change(*tree, -1);
        grow_anew(*tree, congestion);
        change(*tree, 1);
      }
      const long long over = congestion.overflow();
      if (over == 0) return true;
      if (over < least) {
        least = over;
        least_in = turn;
      }
      if (turn - least_in > kPatience) return false;
      congestion.raise();
      if (turn % 4 == 3) congestion.move_round();
    }
    return false;
  }

  std::size_t at(int step, LinkId l) const {
    return static_cast<std::size_t>(step) * topology_.links.size() + static_cast<std::size_t>(l);
  }

  void grow_anew(TreeSends& tree, const Congestion& congestion) {
    // They stay while it grows, which uses no link in a step twice.
    prices_.resize(static_cast<std::size_t>(steps_) * topology_.links.size());
    for (int s = 0; s < steps_; ++s)
      for (LinkId l = 0; l < std::ssize(topology_.links); ++l) prices_[at(s, l)] = congestion.price(l, s);
    if (collective_.combining)
      add_up(tree);
    else
      copy(tree, collective_.chunks[static_cast<std::size_t>(&tree - trees_.data())].pre);
  }

  void copy(TreeSends& tree, const RankSet& roots) {
    const auto price = [&](LinkId l, int layer) { return prices_[at(layer, l)]; };
    if (!growing_.grow(roots, steps_, false, price, down_)) return;
    tree.sends.clear();
    for (const TimedTree::Way& way : down_)
      if (way.link >= 0) tree.sends.push_back({.step = way.layer, .link = way.link});
  }

  // The cheapest of some ranks and times where it may be whole.
  void add_up(TreeSends& tree) {
    double least = TimedTree::kDearest;
    for (int tries = 0; tries < kPlacesTried; ++tries) {
      const auto [root, whole] = place();
      const auto after = [&, whole = whole](LinkId l, int layer) { return prices_[at(whole + layer, l)]; };
      const auto until = [&, whole = whole](LinkId l, int layer) {
        return prices_[at(whole - 1 - layer, l)];
      };
      const std::optional<double> down = growing_.grow({root}, steps_ - whole, false, after, down_);
      const std::optional<double> up = growing_.grow({root}, whole, true, until, up_);
      if (!down || !up || *down + *up >= least) continue;
      least = *down + *up;
      tree.sends.clear();
      for (Rank n = 0; n < topology_.ranks; ++n) {
        if (n == root) continue;
        tree.sends.push_back({.step = whole + down_[n].layer, .link = down_[n].link});
        tree.sends.push_back({.step = whole - 1 - up_[n].layer, .link = up_[n].link, .reduce = true});
      }
    }
  }

  // A rank, and after how many steps, so that all can come and it can go to all.
  std::pair<Rank, int> place() {
    for (;;) {
      const Rank n = static_cast<Rank>(random_() % static_cast<unsigned>(topology_.ranks));
      const int spare = steps_ - to_all_[n] - from_all_[n];
      if (spare >= 0)
        return {n, from_all_[n] + static_cast<int>(random_() % static_cast<unsigned>(spare + 1))};
    }
  }

  const Topology& topology_;
  const Collective& collective_;
  const std::vector<std::vector<Rank>> identity_ = identity_alone(topology_.ranks);
  const LinkOrbits orbits_;
  TimedTree growing_;
  std::vector<TreeSends> trees_;                  // by chunk
  std::vector<int> to_all_ = {}, from_all_ = {};  // hops of the farthest, by rank
  int steps_ = 0;
  std::mt19937 random_{};
  std::vector<double> prices_ = {};  // by step and link
  std::vector<TimedTree::Way> down_ = {}, up_ = {};
};

int fewest_known(const std::vector<Schedule>& a, const std::vector<Schedule>& b, int steps) {
  int rounds = kNothingKnown + 1;
  for (const std::vector<Schedule>* schedules : {&a, &b})
    for (const Schedule& schedule : *schedules)
      if (std::ssize(schedule.steps) <= steps) rounds = std::min(rounds, total_rounds(schedule));
  return rounds;
}

// Every rank gets every chunk, and has something to wait for.
bool concerns_all(const Collective& collective) {
  if (collective.combining) return collective.kind == CollectiveKind::AllReduce;
  const auto all = [&](const ChunkSpec& spec) {
    for (Rank n = 0; n < collective.ranks; ++n)
      if (!starts_at(spec, n) && !ends_at(spec, n)) return false;
    return static_cast<int>(spec.pre.size()) < collective.ranks;
  };
  return !collective.chunks.empty() && std::ranges::all_of(collective.chunks, all);
}

}  // namespace

std::vector<Schedule> fit_trees(const Topology& topology, const Collective& collective,
                                const std::vector<Schedule>& known, const std::function<int()>& bound,
                                const std::atomic<bool>* stop) {
  Effort effort(collective.combining ? kMostLooksForTrees : kMostLooksForCopying, stop);
  if (effort.stopped() || topology.ranks < 2 || !concerns_all(collective)) return {};
  TreeFitting fitting(topology, collective);
  const std::optional<int> hops_needed = fitting.fewest_steps();
  if (!hops_needed ||
      fitting.looks_of_turn(*hops_needed) > (collective.combining ? kMostLooksOfTurn : kMostLooksOfCopies))
    return {};
  const int fewest = *hops_needed, least = bound();
  std::vector<Schedule> best;
  for (int steps = fewest; steps <= 3 * fewest + kMoreForNarrow; steps += steps / 4 + 1) {
    // From what is known downwards, since what has no schedule takes longest. Where nothing is known, from the bound up.
    int low = std::max(least, steps), more = low / 4 + 1;
    for (int failures = 0; failures < kFailuresOfSteps && effort.affords(1);) {
      const int most = fewest_known(known, best, steps) - 1;
      if (most < low) break;
      const int rounds = most < kNothingKnown ? low + (most - low) * 2 / 3 : low + more;
      if (std::optional<Schedule> schedule = fitting.fit(steps, rounds, 1, effort)) {
        keep_undominated(best, std::move(*schedule));
        continue;
      }
      low = rounds + 1;
      more = 2 * more + 1;
      failures += most < kNothingKnown;
    }
  }
  return effort.stopped() ? std::vector<Schedule>{} : best;
}

}  // namespace chorale
