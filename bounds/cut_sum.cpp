// All prices are integers, so are the cuts. What a send pays is at least the sum of the cuts that it enters:
// of weights, since costs differ by no more than the send between them; of trees, since each cut takes its
// price from the arcs that enter it; of a partition, since a send enters one group and leaves one.
#include "bounds/cut_sum.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "bounds/demand.h"

namespace chorale {
namespace {

constexpr std::int64_t kNoPath = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kHeaviestLink = 1 << 24;  // so that the price of a path is an int
using Costs = std::vector<std::int64_t>;         // by rank

class Cutter {
 public:
  Cutter(const Topology& topology, const Collective& collective, const Certificate& certificate, int steps)
      : topology_(topology), collective_(collective), certificate_(certificate), steps_(steps) {
    const std::vector<Prices>& given = certificate.prices;
    for (int s = 0; s < steps && !given.empty(); ++s)
      sum_.prices.push_back(given.size() == 1 ? given.front()
                                              : given[std::min<std::size_t>(s, given.size() - 1)]);
    for (const Prices& prices : sum_.prices) weights_.push_back(link_weights(topology, prices));
  }

  std::optional<CutSum> made() {
    for (const auto& of_step : weights_)
      if (std::ranges::any_of(of_step, [](std::int64_t w) { return w > kHeaviestLink; })) return std::nullopt;
    for (Chunk c = 0; c < std::ssize(collective_.chunks) && !sum_.unreachable; ++c) {
      if (!reachable(collective_.chunks[c])) sum_.unreachable = true;
      cut(c, collective_.chunks[c]);
    }
    if (sum_.unreachable) return CutSum{.unreachable = true};
    return add_up() ? std::optional(std::move(sum_)) : std::nullopt;
  }

 private:
  using Kind = Certificate::Kind;

  void cut(Chunk c, const ChunkSpec& spec) {
    switch (certificate_.kind) {
      case Kind::Weights:
        return by_cost(c, spec);
      case Kind::Trees:
        return by_tree(c, spec);
      case Kind::Cuts:
        for (const TimedCut& each : certificate_.cuts)
          if (must_enter(spec, each)) add(c, each);
        return certificate_.group.empty() ? void() : by_groups(c, spec, left_of_crossings());
      case Kind::Partition:
        return by_groups(c, spec, left_of_crossings());
      default:
        return;
    }
  }

  void add(Chunk c, const TimedCut& cut) {
    if (cut.price > 0) sum_.cuts.push_back({.chunk = c, .cut = cut});
  }

  bool reachable(const ChunkSpec& spec) const {
    const auto reaches = [&](const RankSet& from) {
      const std::vector<int> far = hops(topology_, from);
      return std::ranges::all_of(spec.post, [&](Rank d) { return far[d] >= 0 && far[d] <= steps_; });
    };
    if (!collective_.combining) return reaches(spec.pre);
    return std::ranges::all_of(spec.pre, [&](Rank n) { return reaches({n}); });
  }

  // In time: what comes in a step is sent on in the next, and what waits pays nothing.
  std::vector<Costs> costs(const RankSet& from) const {
    std::vector<Costs> by_time = {Costs(topology_.ranks, kNoPath)};
    for (const Rank n : from) by_time.front()[n] = 0;
    for (int s = 0; s < steps_; ++s) {
      Costs after = by_time.back();
      for (std::size_t l = 0; l < topology_.links.size(); ++l) {
        const Link& link = topology_.links[l];
        const std::int64_t before = by_time.back()[link.src];
        if (before != kNoPath) after[link.dst] = std::min(after[link.dst], before + weights_[s][l]);
      }
      by_time.push_back(std::move(after));
    }
    return by_time;
  }

  void by_cost(Chunk c, const ChunkSpec& spec) {
    std::vector<Costs> best;
    std::int64_t most = 0;
    const auto consider = [&](const RankSet& from) {
      std::vector<Costs> by_time = costs(from);
      for (const Rank d : spec.post)
        if (by_time.back()[d] > most) {
          most = by_time.back()[d];
          best = by_time;
        }
    };
    if (!collective_.combining) consider(spec.pre);
    if (collective_.combining)
      for (const Rank n : spec.pre) consider({n});
    std::set<std::int64_t> levels;
    for (const Costs& at : best)
      for (const std::int64_t cost : at)
        if (cost > 0) levels.insert(std::min(cost, most));
    std::int64_t below = 0;
    for (const std::int64_t level : levels) {
      TimedCut cut{.price = static_cast<int>(level - below), .until = std::vector<int>(topology_.ranks, -1)};
      for (Rank n = 0; n < topology_.ranks; ++n)
        for (int t = 0; t <= steps_; ++t)
          if (best[t][n] >= level) cut.until[n] = t;
      add(c, cut);
      below = level;
    }
  }

  // The pairs of ends of a tree: from the sources of a copy, or to a destination of a sum.
  void by_tree(Chunk c, const ChunkSpec& spec) {
    const auto are_all = [&](const RankSet& some, const RankSet& others) {
      for (Rank n = 0; n < topology_.ranks; ++n)
        if (!some.contains(n) && !others.contains(n)) return false;
      return true;
    };
    const std::size_t before = sum_.cuts.size();
    by_cost(c, spec);
    std::int64_t most = 0;
    for (std::size_t i = before; i < sum_.cuts.size(); ++i) most += sum_.cuts[i].cut.price;
    const auto consider = [&](const RankSet& root) {
      const std::vector<TimedCut> cuts = tree_cuts(root);
      std::int64_t all = 0;
      for (const TimedCut& cut : cuts) all += cut.price;
      if (all <= most) return;
      most = all;
      sum_.cuts.resize(before);
      for (const TimedCut& cut : cuts) add(c, cut);
    };
    if (!collective_.combining && are_all(spec.pre, spec.post)) consider(spec.pre);
    if (collective_.combining)
      for (const Rank d : spec.post)
        if (are_all(spec.pre, {d})) consider({d});
  }

  // While some ranks cannot be reached over arcs that cost nothing any more: a set of them that nothing free
  // enters is a cut, at the price of its cheapest entering arc. Of a sum, arcs are reversed, and a cut is
  // what is left by the set.
  std::vector<TimedCut> tree_cuts(const RankSet& root) const {
    std::vector<std::int64_t> w = weights_.front();
    std::vector<TimedCut> cuts;
    for (;;) {
      const std::vector<bool> set = unentered(root, w);
      if (set.empty()) return cuts;
      std::int64_t least = kNoPath;
      for (std::size_t l = 0; l < w.size(); ++l)
        if (enters(l, set)) least = std::min(least, w[l]);
      if (least == kNoPath) return {};
      for (std::size_t l = 0; l < w.size(); ++l)
        if (enters(l, set)) w[l] -= least;
      TimedCut cut{.price = static_cast<int>(least), .until = {}};
      for (Rank n = 0; n < topology_.ranks; ++n)
        cut.until.push_back(set[n] != collective_.combining ? steps_ : -1);
      cuts.push_back(std::move(cut));
    }
  }

  Rank tail(std::size_t l) const {
    return collective_.combining ? topology_.links[l].dst : topology_.links[l].src;
  }
  Rank head(std::size_t l) const {
    return collective_.combining ? topology_.links[l].src : topology_.links[l].dst;
  }
  bool enters(std::size_t l, const std::vector<bool>& set) const { return set[head(l)] && !set[tail(l)]; }

  // The ranks from which a rank is reached for nothing; the smallest such set without a root.
  std::vector<bool> unentered(const RankSet& root, const std::vector<std::int64_t>& w) const {
    std::vector<bool> best;
    std::ptrdiff_t fewest = topology_.ranks + 1;
    for (Rank n = 0; n < topology_.ranks; ++n) {
      std::vector<bool> set(topology_.ranks, false);
      set[n] = true;
      for (bool more = true; more;) {
        more = false;
        for (std::size_t l = 0; l < w.size(); ++l)
          if (w[l] == 0 && enters(l, set)) set[tail(l)] = more = true;
      }
      const std::ptrdiff_t size = std::ranges::count(set, true);
      if (size >= fewest || std::ranges::any_of(root, [&](Rank r) { return set[r]; })) continue;
      fewest = size;
      best = set;
    }
    return best;
  }

  bool must_enter(const ChunkSpec& spec, const TimedCut& cut) const {
    const auto outside = [&](Rank n) { return cut.until[n] < 0; };
    const bool leaves = collective_.combining ? std::ranges::any_of(spec.pre, outside)
                                              : std::ranges::all_of(spec.pre, outside);
    return leaves && std::ranges::any_of(spec.post, [&](Rank n) { return cut.until[n] >= steps_; });
  }

  // What every send between groups has left in every step.
  std::int64_t left_of_crossings() const {
    std::int64_t least = kNoPath;
    for (int s = 0; s < steps_; ++s)
      for (std::size_t l = 0; l < topology_.links.size(); ++l) {
        const Link& link = topology_.links[l];
        if (certificate_.group[link.src] == certificate_.group[link.dst]) continue;
        std::int64_t left = weights_[s][l];
        for (const TimedCut& cut : certificate_.cuts)
          if (cut.until[link.dst] >= s + 1 && cut.until[link.src] < s) left -= cut.price;
        least = std::min(least, left);
      }
    return least == kNoPath ? 0 : least;
  }

  // A send between groups enters one and leaves one, so either all that must be entered are counted, or all
  // that must be left. More is true of sums for several groups, and is no sum of cuts.
  void by_groups(Chunk c, const ChunkSpec& spec, std::int64_t price) {
    std::vector<TimedCut> entered, left;
    const std::set<int> groups(certificate_.group.begin(), certificate_.group.end());
    for (const int group : groups) {
      TimedCut in{.price = static_cast<int>(price), .until = {}}, out = in;
      for (Rank n = 0; n < topology_.ranks; ++n) {
        in.until.push_back(certificate_.group[n] == group ? steps_ : -1);
        out.until.push_back(certificate_.group[n] == group ? -1 : steps_);
      }
      if (must_enter(spec, in)) entered.push_back(in);
      if (must_enter(spec, out)) left.push_back(out);
    }
    for (const TimedCut& cut : entered.size() >= left.size() ? entered : left) add(c, cut);
  }

  // False where prices are too high.
  bool add_up() {
    for (const EnteredCut& each : sum_.cuts) sum_.owed += each.cut.price;
    for (const Prices& prices : sum_.prices)
      sum_.per_round = std::max(sum_.per_round, paid_per_round(topology_, prices));
    return sum_.per_round < kMostPaid;
  }

  const Topology& topology_;
  const Collective& collective_;
  const Certificate& certificate_;
  const int steps_;
  std::vector<std::vector<std::int64_t>> weights_ = {};  // by step and link
  CutSum sum_ = {};
};

}  // namespace

std::optional<CutSum> cut_sum(const Topology& topology, const Collective& collective,
                              const Certificate& certificate, int steps) {
  const auto kinds = {Certificate::Kind::Distance, Certificate::Kind::Weights, Certificate::Kind::Trees,
                      Certificate::Kind::Cuts, Certificate::Kind::Partition};
  if (std::ranges::find(kinds, certificate.kind) == kinds.end()) return std::nullopt;
  return Cutter(topology, collective, certificate, steps).made();
}

}  // namespace chorale
