// Dijkstra, one dynamic program over the steps, and sums. Numbers are wide enough that no input can overflow
// them: a link weighs at most kHeaviest, a path has fewer than 2^20 links, and sums over chunks and links are
// taken in 128 bits.
//
// What is checked is an inequality: every chunk pays at least the cheapest path to its most expensive
// destination, a round is paid at most sum(bandwidth * price), so rounds * paid >= owed. That holds for any
// nonnegative prices whatever. So their origin does not matter: a certificate that was forged, rounded or
// made for another machine can be weak, and cannot be false.
//
// Where links are chosen paths through switches, prices are of the machine below (Topology::underlay): a send
// pays the cost of the links of its path, whichever path that is, so the bound holds for all paths.
//
// Cost: one run over the links for each set of sources that chunks name, times the steps where prices have
// steps.
#include "bounds/check_prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "ir/agreement.h"
#include "ir/words.h"

namespace chorale {

// The lowest arc into each vertex is paid and taken off all arcs into it: every arborescence has one arc in,
// so all cost so much less then. What remains is free where the free arcs reach all; a cycle of free arcs is
// made one vertex, since one that enters it anywhere reaches all of it for nothing.
std::int64_t arborescence_weight(int vertices, int root, std::vector<CheckedArc> arcs) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t paid = 0;
  while (vertices > 1) {
    std::vector<std::int64_t> lowest(vertices, kNone);
    std::vector<int> from(vertices, -1);
    for (const CheckedArc& arc : arcs)
      if (arc.from != arc.to && arc.to != root && arc.weight < lowest[arc.to]) {
        lowest[arc.to] = arc.weight;
        from[arc.to] = arc.from;
      }
    for (int v = 0; v < vertices; ++v) {
      if (v == root) continue;
      if (from[v] < 0) return -1;
      paid += lowest[v];
    }
    // Back along the lowest arcs: to the root, or round a cycle.
    std::vector<int> walk(vertices, -1), number(vertices, -1);
    int fewer = 0;
    for (int start = 0; start < vertices; ++start) {
      int v = start;
      for (; v != root && walk[v] < 0; v = from[v]) walk[v] = start;
      if (v == root || walk[v] != start || number[v] >= 0) continue;
      for (int u = v; number[u] < 0; u = from[u]) number[u] = fewer;
      ++fewer;
    }
    if (fewer == 0) return paid;
    for (int& each : number)
      if (each < 0) each = fewer++;
    for (CheckedArc& arc : arcs) {
      if (arc.to != root) arc.weight -= lowest[arc.to];
      arc.from = number[arc.from];
      arc.to = number[arc.to];
    }
    root = number[root];
    vertices = fewer;
  }
  return paid;
}

// One arborescence for all who may be first: a vertex before them has an arc to each, too expensive for two
// to be used, less the arc that the first does not need.
std::int64_t gossip_weight(int vertices, const std::vector<int>& receivers,
                           const std::vector<CheckedArc>& arcs) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> lowest(vertices, kNone);
  std::int64_t one = 1;  // more than all arcs of any arborescence
  for (const CheckedArc& arc : arcs) {
    if (arc.from != arc.to) lowest[arc.to] = std::min(lowest[arc.to], arc.weight);
    one = std::max(one, arc.weight + 1);
  }
  one *= 2LL * vertices;
  std::vector<CheckedArc> back;
  for (const CheckedArc& arc : arcs) back.push_back({.from = arc.to, .to = arc.from, .weight = arc.weight});
  std::int64_t others = 0;
  for (const int v : receivers) {
    if (lowest[v] == kNone) return receivers.size() == 1 && vertices == 1 ? 0 : -1;
    others += lowest[v];
    back.push_back({.from = vertices, .to = v, .weight = one - lowest[v]});
  }
  const std::int64_t all = arborescence_weight(vertices + 1, vertices, std::move(back));
  return all < 0 || all >= one + one / 2 ? -1 : all - one + others;
}

namespace {

using Wide = ShownByPrices::Wide;
using Weights = std::vector<std::int64_t>;  // by link

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMostKnown = 1 << 24;  // costs that are kept: 128 MB
constexpr std::int64_t kHeaviest = std::int64_t{1} << 40;

class PriceCheck {
 public:
  // A topology with switches is the one below chosen paths.
  PriceCheck(const Topology& topology, const Collective& collective)
      : topology_(topology),
        collective_(collective),
        nodes_(topology.ranks + topology.switches),
        next_(nodes_),
        arriving_(nodes_) {
    for (std::size_t l = 0; l < topology.links.size(); ++l) {
      next_[topology.links[l].src].push_back(static_cast<LinkId>(l));
      arriving_[topology.links[l].dst].push_back(static_cast<LinkId>(l));
    }
  }

  // One entry of prices and `timed` false: for any number of steps. Otherwise an entry a step.
  ShownByPrices weights(const std::vector<Prices>& prices, bool timed) {
    ShownByPrices shown;
    if (timed && topology_.switches > 0) return {.fault = "prices of steps prove nothing about switches"};
    std::vector<Weights> by_step;
    for (const Prices& p : prices) {
      Weights w;
      Wide budget = 0;
      if (shown.fault = weigh(p, w, budget); !shown.fault.empty()) return shown;
      by_step.push_back(std::move(w));
      shown.paid_per_round = std::max(shown.paid_per_round, budget);
    }
    if (shown.paid_per_round == 0) return {.fault = "all prices are zero"};
    // Chunks share their sources: one run serves all chunks of a block, and a contributor all chunks of a
    // sum. What is kept has a limit, since a machine of thousands of ranks has as many sets; a caller is done
    // with one answer before it asks for the next, which may forget it.
    std::map<RankSet, std::vector<std::int64_t>> known;
    const auto cheapest = [&](const RankSet& from) -> const std::vector<std::int64_t>& {
      if (known.size() * static_cast<std::size_t>(topology_.ranks) > kMostKnown) known.clear();
      const auto [at, fresh] = known.try_emplace(from);
      if (fresh) at->second = timed ? within_steps(from, by_step) : along_any_path(from, by_step.front());
      return at->second;
    };
    for (std::size_t c = 0; c < collective_.chunks.size(); ++c) {
      const std::int64_t pays = owed_by(collective_.chunks[c], cheapest);
      if (pays == kFar)
        return {.fault = fmt::format(
                    "chunk {} cannot reach all its destinations at all: that takes a distance claim", c)};
      shown.owed += pays;
    }
    return shown;
  }

  // Crossings may be over whichever link is cheapest, so each is counted with the least weight; what links
  // inside a group cost does not matter, but for what it adds to a round's budget.
  ShownByPrices partition(const std::vector<Prices>& prices, const std::vector<int>& group) {
    ShownByPrices shown;
    if (prices.size() != 1) return {.fault = "a partition needs one entry of prices"};
    if (static_cast<int>(group.size()) != topology_.ranks)
      return {.fault = fmt::format("the partition names groups of {} ranks, there are {}", group.size(),
                                   topology_.ranks)};
    Weights w;
    if (shown.fault = weigh(prices.front(), w, shown.paid_per_round); !shown.fault.empty()) return shown;
    if (shown.fault = counted_once(prices.front()); !shown.fault.empty()) return shown;
    const std::int64_t least = least_crossing(w, group);
    if (least == kFar) return {.fault = "no link crosses the partition"};
    if (least == 0) return {.fault = "a link that crosses the partition costs nothing"};
    for (const ChunkSpec& spec : collective_.chunks) shown.owed += Wide{least} * crossings(spec, group);
    return shown;
  }

  ShownByPrices trees(const std::vector<Prices>& prices) {
    ShownByPrices shown;
    if (prices.size() != 1) return {.fault = "trees need one entry of prices"};
    if (topology_.switches > 0) return {.fault = "trees prove nothing about switches"};
    Weights w;
    if (shown.fault = weigh(prices.front(), w, shown.paid_per_round); !shown.fault.empty()) return shown;
    if (shown.paid_per_round == 0) return {.fault = "all prices are zero"};
    if (shown.fault = counted_once(prices.front()); !shown.fault.empty()) return shown;
    std::map<std::pair<RankSet, RankSet>, std::int64_t> known;
    for (std::size_t c = 0; c < collective_.chunks.size(); ++c) {
      const ChunkSpec& spec = collective_.chunks[c];
      const auto [at, fresh] = known.try_emplace({spec.pre, spec.post});
      if (fresh) at->second = owed_by_trees(spec, w);
      if (at->second == kFar)
        return {.fault = fmt::format(
                    "chunk {} cannot reach all its destinations at all: that takes a distance claim", c)};
      shown.owed += at->second;
    }
    return shown;
  }

  // What a send pays must do for all cuts that it enters, and, between groups, for the crossing as well.
  ShownByPrices cuts(const Certificate& certificate, int steps) {
    ShownByPrices shown;
    if (topology_.switches > 0) return {.fault = "cuts in time prove nothing about switches"};
    if (static_cast<int>(certificate.prices.size()) != steps)
      return {.fault = "cuts in time need prices for each step of the claim"};
    for (const SharedLimit& limit : topology_.limits)
      if (limit.abilities.multicast || limit.abilities.reduce)
        return {.fault = "cuts in time prove nothing about limits that count several sends once"};
    const std::vector<int>& group = certificate.group;
    if (!group.empty() && static_cast<int>(group.size()) != topology_.ranks)
      return {.fault = fmt::format("the partition names groups of {} ranks, there are {}", group.size(),
                                   topology_.ranks)};
    for (const TimedCut& cut : certificate.cuts)
      if (cut.price < 0 || static_cast<int>(cut.until.size()) != topology_.ranks)
        return {.fault = "a cut does not fit the machine"};
    std::int64_t left_of_crossings = kFar;
    for (int s = 0; s < steps; ++s) {
      Weights w;
      Wide budget = 0;
      if (shown.fault = weigh(certificate.prices[s], w, budget); !shown.fault.empty()) return shown;
      shown.paid_per_round = std::max(shown.paid_per_round, budget);
      for (std::size_t l = 0; l < w.size(); ++l) {
        const Link& link = topology_.links[l];
        for (const TimedCut& cut : certificate.cuts)
          if (cut.until[link.dst] >= s + 1 && cut.until[link.src] < s) w[l] -= cut.price;
        if (w[l] < 0)
          return {.fault =
                      fmt::format("link {} pays less in step {} than the cuts that it enters", l, s + 1)};
        if (!group.empty() && group[link.src] != group[link.dst])
          left_of_crossings = std::min(left_of_crossings, w[l]);
      }
    }
    if (shown.paid_per_round == 0) return {.fault = "all prices are zero"};
    for (const ChunkSpec& spec : collective_.chunks) {
      for (const TimedCut& cut : certificate.cuts) {
        const auto outside = [&](Rank n) { return cut.until[n] < 0; };
        const bool leaves = collective_.combining ? std::any_of(spec.pre.begin(), spec.pre.end(), outside)
                                                  : std::all_of(spec.pre.begin(), spec.pre.end(), outside);
        if (leaves &&
            std::any_of(spec.post.begin(), spec.post.end(), [&](Rank n) { return cut.until[n] >= steps; }))
          shown.owed += cut.price;
      }
      if (!group.empty() && left_of_crossings != kFar)
        shown.owed += Wide{left_of_crossings} * crossings(spec, group);
    }
    return shown;
  }

 private:
  // Copies to one rank never meet in a step, so a limit that only reduces counts each of them.
  bool counts_once(const Abilities& abilities) const {
    return abilities.multicast || (abilities.reduce && collective_.combining);
  }

  // Where a certificate counts sends: such a limit may count several of them once. Empty: none has a price.
  std::string counted_once(const Prices& prices) const {
    for (std::size_t z = 0; z < topology_.limits.size(); ++z)
      if (prices.limits[z] != 0 && counts_once(topology_.limits[z].abilities))
        return fmt::format("shared limit {} counts several sends once, and has a price", z);
    return "";
  }

  // By trees, where all ranks have the chunk or want it; of a sum, for the most expensive destination.
  // Otherwise by the most expensive path.
  std::int64_t owed_by_trees(const ChunkSpec& spec, const Weights& w) const {
    const auto are_all = [&](const RankSet& some, const RankSet& others) {
      for (Rank n = 0; n < topology_.ranks; ++n)
        if (!some.contains(n) && !others.contains(n)) return false;
      return true;
    };
    std::map<RankSet, std::vector<std::int64_t>> paths;
    const auto cheapest = [&](const RankSet& from) -> const std::vector<std::int64_t>& {
      return paths[from] = along_any_path(from, w);
    };
    std::int64_t most = owed_by(spec, cheapest);
    if (most == kFar) return kFar;
    if (!collective_.combining)
      return are_all(spec.pre, spec.post) ? std::max(most, tree(spec.pre, w, false)) : most;
    for (const Rank d : spec.post)
      if (are_all(spec.pre, {d})) most = std::max(most, tree({d}, w, true));
    if (adds_once(collective_) && are_all(spec.pre, {}) && are_all(spec.post, {}))
      return std::max(most, sum_at_owner(spec, w));
    // A sum that several need; and, since time may be reversed, one of several that all need.
    if (are_all(spec.pre, {})) most = std::max(most, gossip(spec.post, w, false));
    if (are_all(spec.post, {})) most = std::max(most, gossip(spec.pre, w, true));
    return most;
  }

  // Contributions come to one rank, each by itself, and from there a tree to all: docs/bounds.md, "Trees".
  std::int64_t sum_at_owner(const ChunkSpec& spec, const Weights& w) const {
    std::vector<std::int64_t> owed;
    for (const Rank owner : spec.post) owed.push_back(tree({owner}, w, false));
    for (const Rank n : spec.pre) {
      const std::vector<std::int64_t> to = along_any_path({n}, w);
      for (std::size_t i = 0; i < owed.size(); ++i) owed[i] += to[spec.post[i]];
    }
    return *std::ranges::min_element(owed);
  }

  std::int64_t gossip(const RankSet& receivers, const Weights& w, bool reversed) const {
    std::vector<CheckedArc> arcs;
    for (std::size_t l = 0; l < w.size(); ++l) {
      arcs.push_back({.from = topology_.links[l].src, .to = topology_.links[l].dst, .weight = w[l]});
      if (reversed) std::swap(arcs.back().from, arcs.back().to);
    }
    return gossip_weight(topology_.ranks, {receivers.begin(), receivers.end()}, arcs);
  }

  // From those ranks, as one, to all; or from all to them.
  std::int64_t tree(const RankSet& ends, const Weights& w, bool reversed) const {
    const auto vertex = [&](Rank n) { return ends.contains(n) ? 0 : n + 1; };
    std::vector<CheckedArc> arcs;
    for (std::size_t l = 0; l < w.size(); ++l) {
      const int src = vertex(topology_.links[l].src), dst = vertex(topology_.links[l].dst);
      arcs.push_back({.from = reversed ? dst : src, .to = reversed ? src : dst, .weight = w[l]});
    }
    for (const Rank n : ends) arcs.push_back({.from = 0, .to = n + 1});  // vertices that belong to no rank
    return arborescence_weight(topology_.ranks + 1, 0, std::move(arcs));
  }

  // The weight of each link and what a round can pay at most; returns what is wrong with the prices. A limit
  // raises the weight of each of its links and is itself paid once, for all of them together: the sum over
  // links of sends * weight is that over links and limits of sends * price, and each has its bandwidth.
  std::string weigh(const Prices& prices, Weights& w, Wide& budget) const {
    if (prices.links.size() != topology_.links.size())
      return fmt::format("there are prices of {} links, the topology has {}", prices.links.size(),
                         topology_.links.size());
    if (prices.limits.size() != topology_.limits.size())
      return fmt::format("there are prices of {} shared limits, the topology has {}", prices.limits.size(),
                         topology_.limits.size());
    w.assign(prices.links.begin(), prices.links.end());
    for (std::size_t l = 0; l < w.size(); ++l) {
      if (prices.links[l] < 0) return fmt::format("the price of link {} is negative", l);
      budget += Wide{prices.links[l]} * topology_.links[l].bandwidth;
    }
    for (std::size_t z = 0; z < prices.limits.size(); ++z) {
      if (prices.limits[z] < 0) return fmt::format("the price of shared limit {} is negative", z);
      budget += Wide{prices.limits[z]} * topology_.limits[z].bandwidth;
      for (LinkId l : topology_.limits[z].links) w[l] += prices.limits[z];
    }
    for (std::int64_t weight : w)
      if (weight > kHeaviest) return "a price is too high to be added up";
    return "";
  }

  // Copies come from the nearest source; of a sum, every contribution has to travel to every destination. To
  // one destination only, the most expensive: paths to several of them may share their sends, and none may be
  // counted twice.
  std::int64_t owed_by(
      const ChunkSpec& spec,
      const std::function<const std::vector<std::int64_t>&(const RankSet&)>& cheapest) const {
    std::int64_t most = 0;
    if (!collective_.combining) {
      const std::vector<std::int64_t>& to = cheapest(spec.pre);
      for (Rank d : spec.post) most = std::max(most, to[d]);
      return most;
    }
    for (Rank p : spec.pre) {
      const std::vector<std::int64_t>& to = cheapest({p});
      for (Rank d : spec.post) most = std::max(most, to[d]);
    }
    return most;
  }

  // What a send between groups costs at least: over a link, or over any path through switches alone.
  std::int64_t least_crossing(const Weights& w, const std::vector<int>& group) const {
    std::int64_t least = kFar;
    if (topology_.switches == 0) {
      for (std::size_t l = 0; l < w.size(); ++l)
        if (group[topology_.links[l].src] != group[topology_.links[l].dst]) least = std::min(least, w[l]);
      return least;
    }
    std::map<int, std::vector<Rank>> members;
    for (Rank n = 0; n < topology_.ranks; ++n) members[group[n]].push_back(n);
    for (const auto& [name, ranks] : members) {
      const std::vector<std::int64_t> to = cheapest(ranks, w, true);
      for (Rank n = 0; n < topology_.ranks; ++n)
        if (group[n] != name) least = std::min(least, to[n]);
    }
    return least;
  }

  std::vector<std::int64_t> along_any_path(const RankSet& from, const Weights& w) const {
    return cheapest(from, w, false);
  }

  // [node] -> cost, kFar if there is no path. A path of one send ends at the first rank that is not a source.
  std::vector<std::int64_t> cheapest(const RankSet& from, const Weights& w, bool one_send) const {
    std::vector<std::int64_t> cost(nodes_, kFar);
    using Entry = std::pair<std::int64_t, Node>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (Rank n : from) {
      cost[n] = 0;
      queue.push({0, n});
    }
    while (!queue.empty()) {
      const auto [paid, n] = queue.top();
      queue.pop();
      if (paid != cost[n]) continue;
      if (one_send && n < topology_.ranks && !from.contains(n)) continue;
      for (LinkId l : next_[n]) {
        const Node m = topology_.links[l].dst;
        if (paid + w[l] >= cost[m]) continue;
        cost[m] = paid + w[l];
        queue.push({cost[m], m});
      }
    }
    return cost;
  }

  // A step is one link or a wait; what arrives in a step is only sent on in the next. So each step reads the
  // costs before it, and a path of more links than there are steps is not seen: its rank stays at kFar.
  std::vector<std::int64_t> within_steps(const RankSet& from, const std::vector<Weights>& by_step) const {
    std::vector<std::int64_t> cost(topology_.ranks, kFar);
    for (Rank n : from) cost[n] = 0;
    for (const Weights& w : by_step) {
      std::vector<std::int64_t> after = cost;
      for (Rank n = 0; n < topology_.ranks; ++n)
        for (LinkId l : arriving_[n]) {
          const std::int64_t before = cost[topology_.links[l].src];
          if (before != kFar) after[n] = std::min(after[n], before + w[l]);
        }
      cost = std::move(after);
    }
    return cost;
  }

  // How often a chunk crosses between groups at least (docs/bounds.md). A copy enters each group that needs
  // it and has it not. Of a sum, joining p groups of contributors takes p - 1 crossings and telling q groups
  // takes q - 1 more; one more where the group that first knows all cannot be both.
  std::int64_t crossings(const ChunkSpec& spec, const std::vector<int>& group) const {
    const auto groups_of = [&group](const RankSet& ranks) {
      std::vector<int> groups;
      for (Rank n : ranks) groups.push_back(group[n]);
      std::sort(groups.begin(), groups.end());
      groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
      return groups;
    };
    const std::vector<int> pre = groups_of(spec.pre);
    const std::vector<int> post = groups_of(spec.post);
    if (pre.empty() || post.empty()) return 0;
    std::vector<int> both;
    std::set_intersection(pre.begin(), pre.end(), post.begin(), post.end(), std::back_inserter(both));
    if (!collective_.combining) return static_cast<std::int64_t>(post.size() - both.size());
    if (adds_once(collective_)) {
      // Contributions cross one by one: all of other groups to the one with the sum, which then enters each
      // other group that needs it.
      std::map<int, std::int64_t> own;
      for (const Rank n : spec.pre) ++own[group[n]];
      std::int64_t least = std::ssize(spec.pre) + std::ssize(post);
      for (const int g : group)
        least = std::min(least, std::ssize(spec.pre) - own[g] + std::ssize(post) -
                                    (std::ranges::binary_search(post, g) ? 1 : 0));
      return least;
    }
    return static_cast<std::int64_t>(pre.size() + post.size()) - 2 + (both.empty() ? 1 : 0);
  }

  const Topology& topology_;
  const Collective& collective_;
  const int nodes_;
  std::vector<std::vector<LinkId>> next_;      // by node: links that leave it
  std::vector<std::vector<LinkId>> arriving_;  // and that enter it
};

}  // namespace

ShownByPrices shown_by_prices(const Topology& given, const Collective& collective,
                              const Certificate& certificate, int steps) {
  const std::optional<Topology> below = given.underlay ? std::optional(with_switches(given)) : std::nullopt;
  PriceCheck check(below ? *below : given, collective);
  if (certificate.kind == Certificate::Kind::Partition)
    return check.partition(certificate.prices, certificate.group);
  if (certificate.kind == Certificate::Kind::Trees) return check.trees(certificate.prices);
  if (certificate.kind == Certificate::Kind::Cuts) return check.cuts(certificate, steps);
  if (certificate.prices.empty()) return {.fault = "there are no prices"};
  // One entry is for every step, and then paths may have any length: the bound holds for any number of steps.
  const bool entry_a_step = steps == static_cast<int>(certificate.prices.size());
  if (!entry_a_step && certificate.prices.size() != 1)
    return {.fault =
                fmt::format("there are prices of {}; a claim needs one entry, or one for each of its steps",
                            counted(static_cast<long long>(certificate.prices.size()), "step"))};
  return check.weights(certificate.prices, entry_a_step);
}

}  // namespace chorale
