// The same climb as of partitions (partition_climb.h), over sets: Newton's method for the ratio of chunks to capacity, ranks
// that come in or go out one at a time as long as chunks - ratio * capacity grows, and changes at random from the best set,
// with a fixed seed. It begins with single ranks, all but one, and sides of rank numbers: in the rows of a mesh all chunks
// of all rows enter its first column, and no single rank shows more than a row's share of that.
#include "bounds/cut_climb.h"

#include <algorithm>
#include <random>

#include "bounds/cover.h"
#include "bounds/partition_climb.h"

namespace chorale {
namespace {

using Set = std::vector<bool>;  // by rank: is it inside?

constexpr long long kMostWork = 20'000'000;  // links and classes looked at: a tenth of a second
constexpr double kLeastGain = 1e-9;
constexpr int kTurns = 6;
constexpr int kKicks = 40;

std::vector<bool> entering(const Topology& topology, const Set& set) {
  std::vector<bool> enters(topology.links.size());
  for (std::size_t l = 0; l < enters.size(); ++l)
    enters[l] = !set[topology.links[l].src] && set[topology.links[l].dst];
  return enters;
}

class CutClimb {
 public:
  CutClimb(const Topology& topology, const std::vector<ChunkClass>& classes, const std::atomic<bool>* stop)
      : topology_(topology),
        classes_(classes),
        stop_(stop),
        into_(topology.ranks),
        out_of_(topology.ranks),
        wanted_by_(topology.ranks),
        held_by_(topology.ranks) {
    for (std::size_t l = 0; l < topology.links.size(); ++l) {
      into_[topology.links[l].dst].push_back(static_cast<LinkId>(l));
      out_of_[topology.links[l].src].push_back(static_cast<LinkId>(l));
    }
    for (std::size_t c = 0; c < classes.size(); ++c) {
      for (const Rank n : classes[c].pre) held_by_[n].push_back(static_cast<int>(c));
      for (const Rank n : classes[c].post) wanted_by_[n].push_back(static_cast<int>(c));
    }
    all_shares_ = fair_shares(topology, std::vector<bool>(topology.links.size(), true));
  }

  std::optional<Set> run() {
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
    for (int kick = 0; kick < kKicks && !over() && !best_set_.empty(); ++kick) {
      Set set = best_set_;
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

 private:
  bool over() const { return work_ > kMostWork || (stop_ != nullptr && *stop_); }

  void from(Set set) {
    for (int turn = 0; turn < kTurns && !over(); ++turn) {
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
        static_cast<double>(chunks_) <= best_ * capacity_ * (1 + kLeastGain))
      return;
    best_ = static_cast<double>(chunks_) / capacity_;
    best_set_ = set;
  }

  void improve(Set& set) {
    measure(set);
    while (!over()) {
      double most = kLeastGain;
      Rank changed = -1;
      for (Rank n = 0; n < topology_.ranks; ++n)
        if (const double gain = gained(n, set); gain > most + kLeastGain) {
          most = gain;
          changed = n;
        }
      if (changed < 0) return;
      const double worth = static_cast<double>(chunks_) - best_ * capacity_;
      set[changed] = !set[changed];
      measure(set);
      // Shares of limits are others now, and the gain may be none.
      if (static_cast<double>(chunks_) - best_ * capacity_ > worth + kLeastGain) continue;
      set[changed] = !set[changed];
      measure(set);
      return;
    }
  }

  // Of each class how many of its ranks are inside, the chunks that enter, and what the links into the set carry.
  void measure(const Set& set) {
    wanted_.assign(classes_.size(), 0);
    held_.assign(classes_.size(), 0);
    for (Rank n = 0; n < topology_.ranks; ++n) {
      if (!set[n]) continue;
      for (const int c : wanted_by_[n]) ++wanted_[c];
      for (const int c : held_by_[n]) ++held_[c];
      work_ += static_cast<long long>(wanted_by_[n].size() + held_by_[n].size());
    }
    chunks_ = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c)
      if (wanted_[c] > 0 && held_[c] == 0) chunks_ += classes_[c].count();
    shares_ = fair_shares(topology_, entering(topology_, set));
    capacity_ = 0;
    for (const double share : shares_) capacity_ += share;
    work_ += static_cast<long long>(shares_.size()) * (topology_.limits.empty() ? 1 : 4) +
             static_cast<long long>(classes_.size());
  }

  // By a rank that comes in, or goes out. Links that do not enter now have the share that they have when all count.
  double gained(Rank n, const Set& set) {
    const bool leaves = set[n];
    std::int64_t chunks = 0;
    for (const int c : wanted_by_[n])
      if (held_[c] == 0 && wanted_[c] == (leaves ? 1 : 0)) chunks += (leaves ? -1 : 1) * classes_[c].count();
    for (const int c : held_by_[n])
      if (wanted_[c] > 0 && held_[c] == (leaves ? 1 : 0)) chunks += (leaves ? 1 : -1) * classes_[c].count();
    double capacity = 0;  // that is added
    for (const LinkId l : into_[n])
      if (!set[topology_.links[l].src]) capacity += leaves ? -shares_[l] : all_shares_[l];
    for (const LinkId l : out_of_[n])
      if (set[topology_.links[l].dst]) capacity += leaves ? all_shares_[l] : -shares_[l];
    work_ += static_cast<long long>(wanted_by_[n].size() + held_by_[n].size() + into_[n].size() +
                                    out_of_[n].size());
    return static_cast<double>(chunks) - best_ * capacity;
  }

  const Topology& topology_;
  const std::vector<ChunkClass>& classes_;
  const std::atomic<bool>* const stop_;
  std::vector<std::vector<LinkId>> into_, out_of_;
  std::vector<std::vector<int>> wanted_by_, held_by_;  // classes, by rank
  std::vector<double> all_shares_ = {}, shares_ = {};  // by link
  std::vector<int> wanted_ = {}, held_ = {};           // by class: ranks inside
  std::int64_t chunks_ = 0;
  double capacity_ = 0;
  double best_ = 0;
  Set best_set_ = {};
  std::mt19937 random_ = {};  // with its standard seed
  long long work_ = 0;
};

}  // namespace

std::optional<Prices> widest_wanted_cut(const Topology& topology, const std::vector<ChunkClass>& classes,
                                        const std::atomic<bool>* stop) {
  const std::optional<Set> set = CutClimb(topology, classes, stop).run();
  if (!set) return std::nullopt;
  return cheapest_cover(topology, entering(topology, *set));
}

}  // namespace chorale
