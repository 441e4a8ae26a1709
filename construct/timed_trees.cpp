// A chunk that is added up has a rank and a time where it is whole; one that is copied is where it starts.
// From there it grows a tree forwards in time, and one backwards over links turned round: at each turn the
// rank that is cheapest to reach is joined by its cheapest way, and all of the tree is where the next may
// begin. First trees spread out: a step has as many rounds as its fullest link, and prices say what one more
// send would add to them (smooth_load.h), sharper from turn to turn; a tree is replaced by a cheaper one from
// another rank and time, if one is found. Then a few rounds are taken away and those that meet in what is
// overfull negotiate (congestion.h), until that does not succeed. Of many chunks a tree stands for several,
// with rounds as many times.
//
// What lost: to negotiate for each number of rounds from the beginning, which took five times as long for 22;
// to replace trees also by dearer ones (22); and to relax all ways after each rank that is joined, which
// looks at ten times as many links as Dijkstra's does.
//
// Invariant: a rank is reached once in each tree. A way that passes a rank before it was reached becomes its
// way; the one that it had is given up, or its contribution would be counted twice.
#include "construct/timed_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "construct/congestion.h"
#include "construct/effort.h"
#include "construct/jobs.h"
#include "construct/link_orbits.h"
#include "construct/smooth_load.h"
#include "construct/spreading.h"
#include "construct/timed_tree.h"

namespace chorale {
namespace {

// Links looked at, by all numbers of steps together: half a second; and, about, by a turn, for which a tree
// stands for as many chunks as needed.
constexpr long long kMostLooksForTrees = 20'000'000;
constexpr double kMostLooksOfTurn = 3e5;
// Few chunks have more turns, as many as do not take longer than many chunks do.
constexpr double kMostLooksOfFit = 3e6;
constexpr int kFewestTurns = 12, kMostTurns = 60;
// From there to fewer rounds: a part of them less at once, links looked at by a try, and turns of it without
// less that is over.
constexpr int kPartLess = 25;
constexpr long long kMostLooksToNegotiate = 400'000;
constexpr int kPatience = 8;
// Few chunks, whose rounds are few, are fitted from nothing as well: on two DGX-1 with a NIC each 16 chunks
// in 4 steps take 46 rounds and not 51.
constexpr double kMostLooksFromNothing = 6e4;
constexpr int kFailuresOfSteps = 2;
// Behind one NIC all is a hop away, and should come in one after the other.
constexpr int kMoreForNarrow = 8;  // steps
// Ranks and times where a chunk may be whole, at first; later one in a turn, and what it had.
constexpr int kPlacesTried = 3;
constexpr double kBlunt = 4;       // sharpness in the first turn, times the rounds of a step
constexpr double kSharpens = 128;  // from the first turn to the last
constexpr double kSharpest = 8;    // of a send over the widest link

struct Placed {
  int step = 0;
  LinkId link = 0;
  bool reduce = false;
};

class TreeFitting {
 public:
  TreeFitting(const Topology& topology, const Collective& collective)
      : topology_(topology),
        collective_(collective),
        orbits_(topology, identity_),
        load_(orbits_),
        growing_(topology),
        classes_(moving_classes(collective)),
        widest_(orbits_.capacities().empty() ? 1
                                             : static_cast<double>(std::ranges::max(orbits_.capacities()))) {
    for (Rank n = 0; n < topology.ranks; ++n) hops_.push_back(hops(topology, {n}));
  }

  // That the farthest class needs; nothing where a rank cannot be reached.
  std::optional<int> fewest_steps() const {
    int most = 0;
    for (const ChunkClass& chunks : classes_) {
      int least = kOutOfReach;
      for (const Rank n : chunks.pre) least = std::min(least, collective_.combining ? through(n, chunks) : 0);
      if (!collective_.combining) {
        least = 0;
        for (const Rank to : chunks.post) {
          int nearest = kOutOfReach;
          for (const Rank from : chunks.pre) nearest = std::min(nearest, distance(from, to));
          least = std::max(least, nearest);
        }
      }
      most = std::max(most, least);
    }
    return most >= kOutOfReach ? std::nullopt : std::optional(most);
  }

  // Numbers of chunks that one tree may stand for, from 1 on.
  std::vector<int> scales() const {
    int together = 0;
    for (const ChunkClass& chunks : classes_) together = std::gcd(together, static_cast<int>(chunks.count()));
    std::vector<int> scales;
    for (int scale = 1; scale <= together; ++scale)
      if (together % scale == 0) scales.push_back(scale);
    return scales;
  }

  // Links that a turn looks at, about, if each tree stands for one chunk.
  double looks_of_turn(int steps) const {
    return static_cast<double>(collective_.chunks.size()) * static_cast<double>(topology_.links.size()) *
           steps;
  }

  // `least`: rounds that no schedule is under.
  Schedule fit(int steps, int scale, int least, Effort& effort) {
    steps_ = steps;
    random_.seed(1);
    start(scale);
    const long long before = growing_.looks();
    std::vector<int> rounds = spread_out(least / scale, effort);
    std::vector<Grown> best = trees_;
    // Fewer rounds, and ever fewer of them at once, since from here on few trees are in each other's way.
    for (int fewer = std::max(1, total(rounds) / kPartLess); fewer > 0;) {
      const long long looks = growing_.looks();
      if (!effort.affords(looks - before)) break;
      std::vector<int> wanted = less(rounds, fewer);
      if (!wanted.empty() && total(wanted) * scale >= least &&
          negotiate(wanted, looks + kMostLooksToNegotiate)) {
        rounds = rounds_now();
        best = trees_;
        continue;
      }
      trees_ = best;
      fewer /= 2;
    }
    effort.spend(growing_.looks() - before);
    return schedule_of(best);
  }

  // In so many rounds, from nothing; and each tree stands for one chunk.
  std::optional<Schedule> fit_within(int steps, int rounds, Effort& effort) {
    steps_ = steps;
    random_.seed(1);
    start(1);
    std::vector<int> by_step;
    for (int s = 0; s < steps; ++s) by_step.push_back(rounds / steps + (s < rounds % steps));
    const long long before = growing_.looks();
    const bool fits = negotiate(by_step, before + 4 * kMostLooksToNegotiate);
    effort.spend(growing_.looks() - before);
    if (!fits) return std::nullopt;
    return schedule_of(trees_);
  }

 private:
  struct Grown {
    int of = 0;                          // class
    std::span<const Chunk> chunks = {};  // that it stands for
    std::vector<Placed> sends = {};
  };

  static constexpr int kOutOfReach = 1 << 20;

  int distance(Rank from, Rank to) const { return hops_[from][to] < 0 ? kOutOfReach : hops_[from][to]; }
  int into(Rank root, const ChunkClass& chunks) const {
    int most = 0;
    for (const Rank n : chunks.pre) most = std::max(most, distance(n, root));
    return most;
  }
  int out_of(Rank root, const ChunkClass& chunks) const {
    int most = 0;
    for (const Rank n : chunks.post) most = std::max(most, distance(root, n));
    return most;
  }
  int through(Rank root, const ChunkClass& chunks) const { return into(root, chunks) + out_of(root, chunks); }

  static int total(const std::vector<int>& rounds) {
    return std::accumulate(rounds.begin(), rounds.end(), 0);
  }

  // By prices that become sharper; the best of what comes. Its rounds by step.
  std::vector<int> spread_out(int least, const Effort& effort) {
    load_.clear(steps_);
    const double rounds_of_step = std::max(1.0, static_cast<double>(least) / steps_);
    std::vector<int> fewest;
    std::vector<Grown> best;
    const long long before = growing_.looks();
    const int turns = std::clamp(static_cast<int>(kMostLooksOfFit / looks_of_turn(steps_) * scale_),
                                 kFewestTurns, kMostTurns);
    for (int turn = 0; turn < turns; ++turn) {
      if (!best.empty() && !effort.affords(growing_.looks() - before)) break;
      const double part = static_cast<double>(turn) / (turns - 1);
      load_.sharpen(std::min(kSharpest * widest_, kBlunt / rounds_of_step * std::pow(kSharpens, part)));
      shuffle();
      for (Grown& tree : trees_) {
        change(load_, tree, -1);
        for (LinkId l = 0; l < std::ssize(topology_.links); ++l) load_.prices_of(l, prices_.row(l));
        grow_anew(tree);
        change(load_, tree, 1);
      }
      if (std::vector<int> rounds = load_.rounds(); fewest.empty() || total(rounds) < total(fewest)) {
        fewest = std::move(rounds);
        best = trees_;
      }
    }
    trees_ = std::move(best);
    return fewest;
  }

  // One less in each of so many steps, the widest; none where there is no step to take it from.
  static std::vector<int> less(std::vector<int> rounds, int fewer) {
    for (; fewer > 0; --fewer) {
      const auto widest = std::ranges::max_element(rounds);
      if (*widest < 2) return {};
      --*widest;
    }
    for (int& of_step : rounds) of_step = std::max(of_step, 1);
    return rounds;
  }

  std::vector<int> rounds_now() {
    load_.clear(steps_);
    load_.sharpen(1);
    for (const Grown& tree : trees_) change(load_, tree, 1);
    return load_.rounds();
  }

  // In given rounds, from trees that are nearly so. False if they stay in each other's way.
  bool negotiate(const std::vector<int>& rounds, long long most_looks) {
    Congestion congestion(orbits_, rounds);
    for (const Grown& tree : trees_) change(congestion, tree, 1);
    const bool fresh = trees_.front().sends.empty();
    long long least = fresh ? std::numeric_limits<long long>::max() : congestion.overflow();
    for (int turn = 0, least_in = 0; least > 0 && turn - least_in <= kPatience; ++turn) {
      if (!fresh || turn > 0) congestion.raise();
      if (turn % 4 == 3) congestion.move_round();
      shuffle();
      for (Grown& tree : trees_) {
        if (!tree.sends.empty() &&
            std::ranges::none_of(tree.sends,
                                 [&](const Placed& p) { return congestion.overfull(p.link, p.step); }) &&
            random_() % 8 != 0)
          continue;
        if (growing_.looks() > most_looks) return false;
        change(congestion, tree, -1);
        for (LinkId l = 0; l < std::ssize(topology_.links); ++l) {
          const std::span<double> row = prices_.row(l);
          for (int s = 0; s < steps_; ++s) row[s] = congestion.price(l, s);
        }
        grow_anew(tree);
        change(congestion, tree, 1);
      }
      if (const long long over = congestion.overflow(); over < least) {
        least = over;
        least_in = turn;
      }
    }
    return least == 0;
  }

  template <typename Load>
  static void change(Load& load, const Grown& tree, int by) {
    for (const Placed& p : tree.sends) load.add(p.link, p.step, by);
  }
  void shuffle() {
    for (std::size_t i = trees_.size(); i > 1; --i) std::swap(trees_[i - 1], trees_[random_() % i]);
  }

  void start(int scale) {
    scale_ = scale;
    trees_.clear();
    for (int k = 0; k < std::ssize(classes_); ++k)
      for (std::size_t c = 0; c < classes_[k].chunks.size(); c += scale)
        trees_.push_back({.of = k, .chunks = std::span(classes_[k].chunks).subspan(c, scale)});
    prices_ = TimedPrices(topology_, steps_);
  }

  Schedule schedule_of(const std::vector<Grown>& trees) const {
    Schedule schedule{.steps = std::vector<Step>(steps_)};
    for (const Grown& tree : trees)
      for (const Placed& p : tree.sends)
        for (Chunk c : tree.chunks)
          schedule.steps[p.step].sends.push_back({.chunk = c, .link = p.link, .reduce = p.reduce});
    return tidy_sums(topology_, collective_, std::move(schedule));
  }

  // As it was, if nothing cheaper is found.
  void grow_anew(Grown& tree) {
    if (collective_.combining)
      add_up(tree);
    else
      copy(tree);
  }

  double cost_of(const Grown& tree) const {
    if (tree.sends.empty()) return TimedTree::kDearest;
    double sum = 0;
    for (const Placed& p : tree.sends) sum += prices_.at(p.link, p.step);
    return sum;
  }

  void copy(Grown& tree) {
    const ChunkClass& chunks = classes_[tree.of];
    const std::optional<double> down =
        growing_.grow(chunks.pre, chunks.post, 0, steps_, false, prices_, down_);
    if (!down || *down >= cost_of(tree)) return;
    tree.sends.clear();
    for (const TimedTree::Way& way : down_)
      if (way.link >= 0) tree.sends.push_back({.step = way.layer, .link = way.link});
  }

  // From ranks and times where it may be whole.
  void add_up(Grown& tree) {
    const ChunkClass& chunks = classes_[tree.of];
    double least = cost_of(tree);
    const int places = tree.sends.empty() ? kPlacesTried : 1;
    for (int tries = 0; tries < places || tree.sends.empty(); ++tries) {
      const auto [root, whole] = place(chunks);
      const std::optional<double> down =
          growing_.grow({root}, chunks.post, whole, steps_ - whole, false, prices_, down_);
      const std::optional<double> up = growing_.grow({root}, chunks.pre, whole, whole, true, prices_, up_);
      if (!down || !up || *down + *up >= least) continue;
      least = *down + *up;
      tree.sends.clear();
      for (Rank n = 0; n < topology_.ranks; ++n) {
        if (down_[n].link >= 0) tree.sends.push_back({.step = whole + down_[n].layer, .link = down_[n].link});
        if (up_[n].link >= 0)
          tree.sends.push_back({.step = whole - 1 - up_[n].layer, .link = up_[n].link, .reduce = true});
      }
    }
  }

  // A rank that contributes, so that the sum is whole there and nowhere before, and after how many steps, so
  // that all can come and it can go to all.
  std::pair<Rank, int> place(const ChunkClass& chunks) {
    for (;;) {
      const Rank n = chunks.pre[random_() % chunks.pre.size()];
      const int spare = steps_ - through(n, chunks);
      if (spare >= 0)
        return {n, into(n, chunks) + static_cast<int>(random_() % static_cast<unsigned>(spare + 1))};
    }
  }

  const Topology& topology_;
  const Collective& collective_;
  const std::vector<std::vector<Rank>> identity_ = identity_alone(topology_.ranks);
  const LinkOrbits orbits_;
  SmoothLoad load_;
  TimedTree growing_;
  const std::vector<ChunkClass> classes_;
  const double widest_;
  std::vector<std::vector<int>> hops_ = {};  // [from][to]
  std::vector<Grown> trees_ = {};
  int steps_ = 0;
  int scale_ = 1;  // chunks that a tree stands for
  std::mt19937 random_{};
  TimedPrices prices_ = {};
  std::vector<TimedTree::Way> down_ = {}, up_ = {};
};

int fewest_rounds(const std::vector<Schedule>& schedules, int steps) {
  int rounds = std::numeric_limits<int>::max();
  for (const Schedule& schedule : schedules)
    if (std::ssize(schedule.steps) <= steps) rounds = std::min(rounds, total_rounds(schedule));
  return rounds;
}

}  // namespace

std::vector<Schedule> fit_trees(const Topology& topology, const Collective& collective,
                                const std::vector<Schedule>& known, const std::function<int()>& bound,
                                const std::atomic<bool>* stop) {
  Effort effort(kMostLooksForTrees, stop);
  if (effort.stopped() || moving_classes(collective).empty()) return {};
  TreeFitting fitting(topology, collective);
  const std::optional<int> hops_needed = fitting.fewest_steps();
  if (!hops_needed) return {};
  const int fewest = *hops_needed;
  const std::vector<int> scales = fitting.scales();
  if (fitting.looks_of_turn(fewest) / scales.back() > kMostLooksOfTurn) return {};
  const int least = bound();
  std::vector<Schedule> best;
  for (int steps = fewest; steps <= 3 * fewest + kMoreForNarrow; steps += steps / 4 + 1) {
    const auto quick = [&](int scale) { return fitting.looks_of_turn(steps) / scale <= kMostLooksOfTurn; };
    const auto scale = std::ranges::find_if(scales, quick);
    if (scale == scales.end() || !effort.affords(1)) break;
    const auto now = [&] { return std::min(fewest_rounds(known, steps), fewest_rounds(best, steps)); };
    if (now() <= std::max(least, steps)) continue;
    if (Schedule fitted = fitting.fit(steps, *scale, least, effort); total_rounds(fitted) < now())
      keep_undominated(best, std::move(fitted));
    if (fitting.looks_of_turn(steps) > kMostLooksFromNothing) continue;
    // From what is known downwards, since what has no schedule takes longest.
    int low = std::max(least, steps);
    for (int failures = 0; failures < kFailuresOfSteps && effort.affords(1) && now() > low;) {
      const int rounds = low + (now() - 1 - low) * 2 / 3;
      if (std::optional<Schedule> schedule = fitting.fit_within(steps, rounds, effort)) {
        keep_undominated(best, std::move(*schedule));
      } else {
        low = rounds + 1;
        ++failures;
      }
    }
  }
  return effort.stopped() ? std::vector<Schedule>{} : best;
}

}  // namespace chorale
