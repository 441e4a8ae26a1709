// A chunk has a rank and a time where it is whole. From there it grows a tree forwards in time, and one backwards over links turned
// round: at each turn the rank that is cheapest to reach is joined by its cheapest way, and all of the tree is where the
// next may begin. Trees of all chunks negotiate (congestion.h): those that meet in what is overfull are grown anew, from
// other ranks and times, too.
//
// Trees that are packed first and filled in a pipeline (sums_on_trees.h) need more steps for the same rounds: on torus:4x4
// with a failed link 31 chunks in 8 steps take 22 rounds here, and 35 there. With a hundred turns more it is not much better.
//
// Invariant: a rank is reached once in each tree. A way that passes a rank before it was reached becomes its way; the one
// that it had is given up, or its contribution would be counted twice.
#include "construct/timed_sums.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

#include "construct/congestion.h"
#include "construct/effort.h"
#include "construct/link_orbits.h"
#include "construct/spreading.h"

namespace chorale {
namespace {

// Links looked at, by all tries together, and by one.
constexpr long long kMostLooksForSums = 120'000'000;
constexpr long long kMostLooksForOne = kMostLooksForSums / 8;
constexpr int kTurnsOfSums = 50;
constexpr int kPatience = 16;  // turns without less that is over
constexpr int kFailuresOfSteps = 2;
constexpr int kPlacesTried = 3;         // ranks and times, each time that a tree is grown anew
constexpr int kNothingKnown = 1 << 28;  // rounds
constexpr double kDearest = std::numeric_limits<double>::infinity();

// Grows one tree away from a rank. Backwards: time and links are turned round.
class TimedTree {
 public:
  struct Way {
    LinkId link = -1;
    int layer = 0;  // that it is gone in
  };

  explicit TimedTree(const Topology& topology)
      : topology_(topology), out_of_(topology.ranks), into_(topology.ranks) {
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l) {
      out_of_[topology.links[l].src].push_back(l);
      into_[topology.links[l].dst].push_back(l);
    }
  }

  // By rank how it is reached, and what all ways cost; nothing where some rank is out of reach.
  template <typename Price>
  std::optional<double> grow(Rank root, int layers, bool backwards, const Price& price,
                             std::vector<Way>& ways) {
    layers_ = layers;
    const auto places = static_cast<std::size_t>(layers + 1) * topology_.ranks;
    cost_.assign(places, kDearest);
    by_.assign(places, -1);
    changed_.assign(layers + 1, {});
    is_changed_.assign(places, false);
    reached_.assign(topology_.ranks, false);
    missing_ = topology_.ranks;
    ways.assign(topology_.ranks, {});
    take(root, 0);
    while (missing_ > 0) {
      spread(backwards, price);
      Rank next = -1;
      for (Rank n = 0; n < topology_.ranks; ++n)
        if (!reached_[n] && (next < 0 || cost_[at(layers, n)] < cost_[at(layers, next)])) next = n;
      if (cost_[at(layers, next)] == kDearest) return std::nullopt;
      for (int layer = layers; cost_[at(layer, next)] > 0; --layer) {
        const LinkId l = by_[at(layer, next)];
        if (l < 0) continue;
        ways[next] = {.link = l, .layer = layer - 1};
        path_.push_back({next, layer});
        next = backwards ? topology_.links[l].dst : topology_.links[l].src;
      }
      for (const auto& [n, layer] : path_) take(n, layer);
      path_.clear();
    }
    double sum = 0;
    for (const Way& way : ways)
      if (way.link >= 0) sum += price(way.link, way.layer);
    return sum;
  }

  long long looks() const { return looks_; }

 private:
  std::size_t at(int layer, Rank n) const { return static_cast<std::size_t>(layer) * topology_.ranks + n; }

  void take(Rank n, int layer) {
    missing_ -= reached_[n] ? 0 : 1;
    reached_[n] = true;
    for (int s = layer; s <= layers_ && cost_[at(s, n)] > 0; ++s) set(s, n, 0, -1);
  }
  void set(int layer, Rank n, double cost, LinkId by) {
    cost_[at(layer, n)] = cost;
    by_[at(layer, n)] = by;
    if (is_changed_[at(layer, n)]) return;
    is_changed_[at(layer, n)] = true;
    changed_[layer].push_back(n);
  }

  // What has become cheaper makes others cheaper.
  template <typename Price>
  void spread(bool backwards, const Price& price) {
    for (int s = 0; s <= layers_; ++s) {
      for (std::size_t i = 0; i < changed_[s].size(); ++i) {
        const Rank u = changed_[s][i];
        is_changed_[at(s, u)] = false;
        if (s == layers_) continue;
        const double cost = cost_[at(s, u)];
        if (cost < cost_[at(s + 1, u)]) set(s + 1, u, cost, -1);
        for (LinkId l : backwards ? into_[u] : out_of_[u]) {
          ++looks_;
          const Rank v = backwards ? topology_.links[l].src : topology_.links[l].dst;
          if (const double with = cost + price(l, s); with < cost_[at(s + 1, v)]) set(s + 1, v, with, l);
        }
      }
      changed_[s].clear();
    }
  }

  const Topology& topology_;
  std::vector<std::vector<LinkId>> out_of_, into_;
  int layers_ = 0;
  long long looks_ = 0;
  std::vector<double> cost_ = {};  // by layer and rank
  std::vector<LinkId> by_ = {};    // over which link, or -1: it was there before
  std::vector<std::vector<Rank>> changed_ = {};
  std::vector<char> is_changed_ = {};
  std::vector<char> reached_ = {};
  int missing_ = 0;
  std::vector<std::pair<Rank, int>> path_ = {};
};

struct TimedSum {
  struct Send {
    int step = 0;
    LinkId link = 0;
    bool reduce = false;
  };
  std::vector<Send> sends = {};
};

class SumFitting {
 public:
  SumFitting(const Topology& topology, int chunks)
      : topology_(topology), orbits_(topology, identity_), tree_(topology), sums_(chunks) {
    const Topology turned = reversed(topology);
    for (Rank n = 0; n < topology.ranks; ++n) {
      to_all_.push_back(farthest_from(topology, n));
      from_all_.push_back(farthest_from(turned, n));
    }
  }

  bool all_in_reach() const {
    return std::ranges::all_of(to_all_, [](int far) { return far >= 0; });
  }
  int fewest_steps() const {
    int least = std::numeric_limits<int>::max();
    for (Rank n = 0; n < topology_.ranks; ++n) least = std::min(least, to_all_[n] + from_all_[n]);
    return least;
  }

  std::optional<Schedule> fit(int steps, int rounds, unsigned seed, Effort& effort) {
    steps_ = steps;
    random_.seed(seed);
    const long long before = tree_.looks();
    const bool fits = negotiate(rounds, before, effort);
    effort.spend(tree_.looks() - before);
    if (!fits) return std::nullopt;
    Schedule schedule{.steps = std::vector<Step>(steps)};
    for (Chunk c = 0; c < std::ssize(sums_); ++c)
      for (const TimedSum::Send& send : sums_[c].sends)
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
    std::vector<TimedSum*> order;
    for (TimedSum& sum : sums_) {
      sum.sends.clear();
      order.push_back(&sum);
    }
    const auto change = [&](const TimedSum& sum, int by) {
      for (const TimedSum::Send& send : sum.sends) congestion.add(send.link, send.step, by);
    };
    long long least = std::numeric_limits<long long>::max();
    int least_in = 0;
    for (int turn = 0; turn < kTurnsOfSums; ++turn) {
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
      for (TimedSum* sum : order) {
        const bool meets = std::ranges::any_of(sum->sends, [&](const TimedSum::Send& send) {
          return congestion.overfull(send.link, send.step);
        });
        if (turn > 0 && !meets && random_() % 8 != 0) continue;
        const long long looks = tree_.looks() - before;
        if (looks > kMostLooksForOne || !effort.affords(looks)) return false;
        change(*sum, -1);
        grow_anew(*sum, congestion);
        change(*sum, 1);
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

  // The cheapest of some ranks and times where it may be whole.
  void grow_anew(TimedSum& sum, const Congestion& congestion) {
    // They stay while it grows: its two trees use no link in a step twice.
    prices_.resize(static_cast<std::size_t>(steps_) * topology_.links.size());
    for (int s = 0; s < steps_; ++s)
      for (LinkId l = 0; l < std::ssize(topology_.links); ++l) prices_[at(s, l)] = congestion.price(l, s);
    double least = kDearest;
    for (int tries = 0; tries < kPlacesTried; ++tries) {
      const auto [root, whole] = place();
      const auto after = [&, whole = whole](LinkId l, int layer) { return prices_[at(whole + layer, l)]; };
      const auto until = [&, whole = whole](LinkId l, int layer) {
        return prices_[at(whole - 1 - layer, l)];
      };
      const std::optional<double> down = tree_.grow(root, steps_ - whole, false, after, down_);
      const std::optional<double> up = tree_.grow(root, whole, true, until, up_);
      if (!down || !up || *down + *up >= least) continue;
      least = *down + *up;
      sum.sends.clear();
      for (Rank n = 0; n < topology_.ranks; ++n) {
        if (n == root) continue;
        sum.sends.push_back({.step = whole + down_[n].layer, .link = down_[n].link});
        sum.sends.push_back({.step = whole - 1 - up_[n].layer, .link = up_[n].link, .reduce = true});
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
  const std::vector<std::vector<Rank>> identity_ = identity_of(topology_.ranks);
  const LinkOrbits orbits_;
  TimedTree tree_;
  std::vector<TimedSum> sums_;                    // by chunk
  std::vector<int> to_all_ = {}, from_all_ = {};  // hops of the farthest, by rank
  int steps_ = 0;
  std::mt19937 random_{};
  std::vector<double> prices_ = {};  // by step and link
  std::vector<TimedTree::Way> down_ = {}, up_ = {};

  static std::vector<std::vector<Rank>> identity_of(int ranks) {
    std::vector<std::vector<Rank>> identity(1, std::vector<Rank>(ranks));
    std::iota(identity.front().begin(), identity.front().end(), 0);
    return identity;
  }
};

int fewest_known(const std::vector<Schedule>& a, const std::vector<Schedule>& b, int steps) {
  int rounds = kNothingKnown + 1;
  for (const std::vector<Schedule>* schedules : {&a, &b})
    for (const Schedule& schedule : *schedules)
      if (std::ssize(schedule.steps) <= steps) rounds = std::min(rounds, total_rounds(schedule));
  return rounds;
}

}  // namespace

std::vector<Schedule> fit_sums(const Topology& topology, const Collective& collective,
                               const std::vector<Schedule>& known, const std::function<int()>& bound,
                               const std::atomic<bool>* stop) {
  if (collective.kind != CollectiveKind::AllReduce || topology.ranks < 2) return {};
  SumFitting fitting(topology, static_cast<int>(collective.chunks.size()));
  Effort effort(kMostLooksForSums, stop);
  if (effort.stopped() || !fitting.all_in_reach()) return {};
  const int fewest = fitting.fewest_steps(), least = bound();
  std::vector<Schedule> best;
  for (int steps = fewest; steps <= 3 * fewest; steps += steps / 4 + 1) {
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
