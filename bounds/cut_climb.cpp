// The same climb as of partitions (partition_climb.h), over sets: Newton's method for the ratio of chunks to
// capacity, ranks that come in or go out one at a time as long as chunks - ratio * capacity grows, and
// changes at random from the best set, with a fixed seed. It begins with the groups that fast links join,
// single ranks, all but one, and sides of rank numbers: in the rows of a mesh all chunks of all rows enter
// its first column, and no single rank shows more than a row's share of that.
#include "bounds/cut_climb.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>

#include "bounds/cuts.h"
#include "bounds/partition_climb.h"
#include "ir/disjoint_sets.h"

namespace chorale {
namespace {

using Set = std::vector<bool>;  // by rank: is it inside?

constexpr long long kMostSetWork = 20'000'000;  // links and classes examined: a tenth of a second
constexpr double kLeastSetGain = 1e-9;
constexpr int kSetTurns = 6;
constexpr int kSetKicks = 40;

std::vector<bool> entering(const Topology& topology, const Set& set) {
  std::vector<bool> enters(topology.links.size());
  for (std::size_t l = 0; l < enters.size(); ++l)
    enters[l] = !set[topology.links[l].src] && set[topology.links[l].dst];
  return enters;
}

// Ranks that links faster than some speed join, for each speed that there is: nodes, racks. Sets of large
// machines, whose single ranks take all of the work.
std::vector<Set> groups_by_speed(const Topology& topology) {
  const auto speed = [](const Link& link) { return link.bandwidth / link.beta_us_per_byte; };
  std::set<double> speeds;
  for (const Link& link : topology.links) speeds.insert(speed(link));
  std::vector<Set> groups;
  for (const double slow : speeds) {
    DisjointSets joined(topology.ranks);
    for (const Link& link : topology.links)
      if (speed(link) > slow) joined.join(link.src, link.dst);
    std::map<Rank, Set> members;
    for (Rank n = 0; n < topology.ranks; ++n)
      members.try_emplace(joined.find(n), topology.ranks, false).first->second[n] = true;
    if (std::ssize(members) == topology.ranks) break;
    for (auto& [first, group] : members) groups.push_back(std::move(group));
  }
  return groups;
}

class CutClimb {
 public:
  CutClimb(const Topology& topology, const std::vector<ChunkClass>& classes, bool sums,
           const std::atomic<bool>* stop)
      : topology_(topology),
        classes_(classes),
        sums_(sums),
        stop_(stop),
        into_(topology.ranks),
        out_of_(topology.ranks),
        touched_by_(topology.ranks) {
    for (std::size_t l = 0; l < topology.links.size(); ++l) {
      into_[topology.links[l].dst].push_back(static_cast<LinkId>(l));
      out_of_[topology.links[l].src].push_back(static_cast<LinkId>(l));
    }
    for (int c = 0; c < std::ssize(classes); ++c) {
      for (const Rank n : classes[c].post)
        touched_by_[n].push_back({.of = c, .wants = 1, .holds = classes[c].pre.contains(n) ? 1 : 0});
      for (const Rank n : classes[c].pre)
        if (!classes[c].post.contains(n)) touched_by_[n].push_back({.of = c, .holds = 1});
    }
    all_shares_ = fair_shares(topology, std::vector<bool>(topology.links.size(), true));
  }

  std::optional<Set> run() {
    for (Set& group : groups_by_speed(topology_)) {
      take(group);
      group.flip();
      take(group);
      if (over()) break;
    }
    if (!best_set_.empty()) from(best_set_);
    for (Rank n = 0; n < topology_.ranks && !over(); ++n) {
      Set one(topology_.ranks, false);
      one[n] = true;
      from(one);
      one.flip();
      from(one);
    }
    for (const std::vector<int>& sides : number_partitions(topology_.ranks))
      for (int side = 0; side <= *std::ranges::max_element(sides) && !over(); ++side) {
        Set one(topology_.ranks), up_to(topology_.ranks);
        for (Rank n = 0; n < topology_.ranks; ++n) {
          one[n] = sides[n] == side;
          up_to[n] = sides[n] <= side;
        }
        from(one);
        from(up_to);
        up_to.flip();
        from(up_to);
      }
    for (int kick = 0; kick < kSetKicks && !over() && !best_set_.empty(); ++kick) {
      Set set = best_set_;
      if (kick % 2 == 1)  // from anywhere: the best of all may be far from the best so far
        for (std::size_t n = 0; n < set.size(); ++n) set[n] = random_() % 2 == 0;
      for (int times = 1 + static_cast<int>(random_() % 3); times > 0; --times) {
        const Rank n = static_cast<Rank>(random_() % set.size());
        const bool inside = random_() % 2 == 0;
        set[n] = inside;
        for (const LinkId l : into_[n])
          if (random_() % 2 == 0) set[topology_.links[l].src] = inside;
      }
      from(set);
    }
    return best_set_.empty() ? std::nullopt : std::optional(best_set_);
  }

  // Chunks that enter it.
  std::int64_t entries(const Set& set) {
    measure(set);
    return chunks_;
  }

 private:
  // A rank that a class names.
  struct Touch {
    int of = 0;
    int wants = 0, holds = 0;  // 1 or 0
  };

  // Must chunks enter that `wanted` ranks inside want, and `held` have? Copies if none has it, sums if not
  // all that contribute are there.
  bool enters(int c, int wanted, int held) const {
    return wanted > 0 && held < (sums_ ? static_cast<int>(classes_[c].pre.size()) : 1);
  }

  bool over() const { return work_ > kMostSetWork || (stop_ != nullptr && *stop_); }

  void from(Set set) {
    for (int turn = 0; turn < kSetTurns && !over(); ++turn) {
      const double before = best_;
      take(set);
      improve(set);
      take(set);
      if (best_ <= before) return;
    }
  }

  void take(const Set& set) {
    measure(set);
    if (chunks_ == 0 || capacity_ <= 0 ||
        static_cast<double>(chunks_) <= best_ * capacity_ * (1 + kLeastSetGain))
      return;
    best_ = static_cast<double>(chunks_) / capacity_;
    best_set_ = set;
  }

  void improve(Set& set) {
    measure(set);
    while (!over()) {
      double most = kLeastSetGain;
      Rank changed = -1;
      for (Rank n = 0; n < topology_.ranks; ++n)
        if (const double gain = gained(n, set); gain > most + kLeastSetGain) {
          most = gain;
          changed = n;
        }
      if (changed < 0) return;
      const double worth = static_cast<double>(chunks_) - best_ * capacity_;
      set[changed] = !set[changed];
      measure(set);
      // Shares of limits are others now, and the gain may be none.
      if (static_cast<double>(chunks_) - best_ * capacity_ > worth + kLeastSetGain) continue;
      set[changed] = !set[changed];
      measure(set);
      return;
    }
  }

  // Of each class how many of its ranks are inside, the chunks that enter, and what the links into the set
  // carry.
  void measure(const Set& set) {
    wanted_.assign(classes_.size(), 0);
    held_.assign(classes_.size(), 0);
    for (Rank n = 0; n < topology_.ranks; ++n) {
      if (!set[n]) continue;
      for (const Touch& touch : touched_by_[n]) {
        wanted_[touch.of] += touch.wants;
        held_[touch.of] += touch.holds;
      }
      work_ += static_cast<long long>(touched_by_[n].size());
    }
    chunks_ = 0;
    for (int c = 0; c < std::ssize(classes_); ++c)
      if (enters(c, wanted_[c], held_[c])) chunks_ += classes_[c].count();
    shares_ = fair_shares(topology_, entering(topology_, set));
    capacity_ = 0;
    for (const double share : shares_) capacity_ += share;
    work_ += static_cast<long long>(shares_.size()) * (topology_.limits.empty() ? 1 : 4) +
             static_cast<long long>(classes_.size());
  }

  // By a rank that comes in, or goes out. Links that do not enter now have the share that they have when all
  // count.
  double gained(Rank n, const Set& set) {
    const bool leaves = set[n];
    const int more = leaves ? -1 : 1;
    std::int64_t chunks = 0;
    for (const Touch& touch : touched_by_[n]) {
      const int wanted = wanted_[touch.of], held = held_[touch.of];
      const bool before = enters(touch.of, wanted, held),
                 after = enters(touch.of, wanted + more * touch.wants, held + more * touch.holds);
      if (before != after) chunks += (after ? 1 : -1) * classes_[touch.of].count();
    }
    double capacity = 0;  // that is added
    for (const LinkId l : into_[n])
      if (!set[topology_.links[l].src]) capacity += leaves ? -shares_[l] : all_shares_[l];
    for (const LinkId l : out_of_[n])
      if (set[topology_.links[l].dst]) capacity += leaves ? all_shares_[l] : -shares_[l];
    work_ += static_cast<long long>(touched_by_[n].size() + into_[n].size() + out_of_[n].size());
    return static_cast<double>(chunks) - best_ * capacity;
  }

  const Topology& topology_;
  const std::vector<ChunkClass>& classes_;
  const bool sums_;
  const std::atomic<bool>* const stop_;
  std::vector<std::vector<LinkId>> into_, out_of_;
  std::vector<std::vector<Touch>> touched_by_;         // by rank
  std::vector<double> all_shares_ = {}, shares_ = {};  // by link
  std::vector<int> wanted_ = {}, held_ = {};           // by class: ranks inside
  std::int64_t chunks_ = 0;
  double capacity_ = 0;
  double best_ = 0;
  Set best_set_ = {};
  std::mt19937 random_ = {};  // with its standard seed
  long long work_ = 0;
};

std::optional<PriceBound> cut(const Topology& topology, const std::vector<ChunkClass>& classes, bool sums,
                              const std::atomic<bool>* stop) {
  CutClimb climb(topology, classes, sums, stop);
  const std::optional<Set> set = climb.run();
  if (!set) return std::nullopt;
  const std::vector<bool> links = entering(topology, *set);
  Prices prices = cheapest_cover(topology, links);
  const std::vector<std::int64_t> weights = link_weights(topology, prices);
  std::int64_t least = INT64_MAX;
  for (std::size_t l = 0; l < links.size(); ++l)
    if (links[l]) least = std::min(least, weights[l]);
  const std::int64_t per_round = paid_per_round(topology, prices);
  return PriceBound{
      .prices = {std::move(prices)}, .owed = climb.entries(*set) * least, .per_round = per_round};
}

}  // namespace

std::optional<PriceBound> widest_wanted_cut(const Topology& topology, const std::vector<ChunkClass>& classes,
                                            const std::atomic<bool>* stop) {
  return cut(topology, classes, false, stop);
}

std::optional<PriceBound> widest_summed_cut(const Topology& topology, const std::vector<ChunkClass>& classes,
                                            const std::atomic<bool>* stop) {
  return cut(topology, classes, true, stop);
}

}  // namespace chorale
