// The graph is built once; flows to one rank after the other change capacities only. On large machines the
// flows together have a limit in work, and ranks of one colour come after one of each colour, so that what is
// left out then is unlikely to add anything.
//
// Invariant: owed / per_round is the ratio of a cut that was met, `prices_` are that cut's if it was met by a
// flow, and a flow decides whether any cut before v beats it: with supplies of chunks * per_round and
// capacities of bandwidth * owed, all integers, everything flows if and only if chunks / bandwidth <= owed /
// per_round for all of them. If not, the minimum cut is strictly tighter, so it ends. The rest of a chunk's
// path is ignored, so a cut is a bound for every collective that copies.
#include "bounds/cuts.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "bounds/machine_colours.h"
#include "graph/max_flow.h"

namespace chorale {

// A limit over few sources and many destinations is near the sources: an out-port, then what goes up from a
// leaf switch, then what comes down to one, then an in-port. In that order chains of limits have no cycle,
// and links share the arcs between two limits. A link that is as wide as one of its limits needs no arc of
// its own: a switch of 64 ranks has 4,032 links, but here 128 limits and what joins them.

namespace {

// Sources over destinations, compared without dividing.
struct Nearness {
  long long sources = 0;
  long long destinations = 1;
  bool operator<(const Nearness& other) const {
    return sources * other.destinations < other.sources * destinations;
  }
};

Nearness nearness(const Topology& topology, const SharedLimit& limit) {
  std::set<Rank> sources, destinations;
  for (LinkId l : limit.links) {
    sources.insert(topology.links[l].src);
    destinations.insert(topology.links[l].dst);
  }
  return {.sources = static_cast<long long>(sources.size()),
          .destinations = std::max<long long>(1, static_cast<long long>(destinations.size()))};
}

}  // namespace

CapacityNetwork capacity_network(const Topology& topology) {
  const int limits = static_cast<int>(topology.limits.size());
  std::vector<Nearness> near;
  std::vector<int> order;
  for (int z = 0; z < limits; ++z) {
    near.push_back(nearness(topology, topology.limits[z]));
    order.push_back(z);
  }
  std::ranges::stable_sort(order, [&](int a, int b) { return near[a] < near[b]; });
  std::vector<std::vector<int>> over(topology.links.size());  // by link, from its source on
  for (int z : order)
    for (LinkId l : topology.limits[z].links) over[l].push_back(z);

  CapacityNetwork result{.nodes = topology.ranks + 2 * limits};
  const auto before = [&](int z) { return topology.ranks + 2 * z; };
  for (int z = 0; z < limits; ++z)
    result.arcs.push_back({.from = before(z), .to = before(z) + 1, .limit = z});
  std::set<std::pair<int, int>> joined;
  for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l) {
    const Link& link = topology.links[l];
    int at = link.src;
    for (int z : over[l]) {
      if (joined.insert({at, before(z)}).second) result.arcs.push_back({.from = at, .to = before(z)});
      at = before(z) + 1;
    }
    const bool as_wide =
        std::ranges::any_of(over[l], [&](int z) { return link.bandwidth >= topology.limits[z].bandwidth; });
    if (!as_wide)
      result.arcs.push_back({.from = at, .to = link.dst, .link = l});
    else if (joined.insert({at, link.dst}).second)
      result.arcs.push_back({.from = at, .to = link.dst});
  }
  return result;
}

namespace {

__extension__ typedef __int128 Wide;
constexpr long long kMostWork = 100'000'000;    // arcs examined, a second or two
constexpr long long kMostOfAlike = 20'000'000;  // of ranks that seem to be like one that was examined
constexpr std::int64_t kLargest = MaxFlow::kUnbounded / 2;  // capacities beyond it are not tried

// The machine's arcs (CapacityNetwork), a node for each class with several sources, and the source of all
// chunks. A class with several sources may leave from any of them, so it is joined to all, without limit: a
// cut with the class before it has all of them before it. Every path of a chunk over links is a path over
// arcs, so whatever the limits are, it passes the cut.
class CutNetwork {
 public:
  CutNetwork(const Topology& topology, const std::vector<ChunkClass>& classes)
      : topology_(topology),
        classes_(classes),
        network_(capacity_network(topology)),
        source_(network_.nodes + static_cast<int>(classes.size())),
        flow_(source_ + 1) {
    for (const NetworkArc& arc : network_.arcs)
      arcs_.push_back(flow_.add_arc(arc.from, arc.to, is_narrow(arc) ? 0 : MaxFlow::kUnbounded));
    for (const Link& link : topology.links) widest_ += link.bandwidth;
    for (const SharedLimit& limit : topology.limits) widest_ += limit.bandwidth;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      all_chunks_ += classes[i].count();
      const int node = class_node(i);
      supply_.push_back(flow_.add_arc(source_, node, 0));
      if (classes[i].pre.size() > 1)
        for (Rank n : classes[i].pre) flow_.add_arc(node, n, MaxFlow::kUnbounded);
    }
  }

  // The tightest cut before v, if it is tighter than owed / per_round.
  bool tighten(Rank v, std::int64_t& owed, std::int64_t& per_round) {
    bool found = false;
    for (;;) {
      // Capacities would not fit: what is known then stands.
      if (Wide{all_chunks_} * per_round > kLargest || Wide{widest_} * owed > kLargest) return found;
      std::int64_t total = 0;
      for (std::size_t i = 0; i < classes_.size(); ++i) {
        const bool wanted = std::binary_search(classes_[i].post.begin(), classes_[i].post.end(), v);
        flow_.set_capacity(supply_[i], wanted ? classes_[i].count() * per_round : 0);
        if (wanted) total += classes_[i].count() * per_round;
      }
      for (std::size_t w = 0; w < arcs_.size(); ++w)
        if (is_narrow(network_.arcs[w])) flow_.set_capacity(arcs_[w], bandwidth(network_.arcs[w]) * owed);
      if (flow_.run(source_, v) >= total) return found;
      flow_.find_cut();
      read_cut(v, owed, per_round);
      found = true;
    }
  }

  const Prices& prices() const { return prices_; }
  long long work() const { return flow_.work(); }

 private:
  int class_node(std::size_t i) const {
    return classes_[i].pre.size() == 1 ? classes_[i].pre.front() : network_.nodes + static_cast<int>(i);
  }
  static bool is_narrow(const NetworkArc& arc) { return arc.link >= 0 || arc.limit >= 0; }
  std::int64_t bandwidth(const NetworkArc& arc) const {
    return arc.link >= 0 ? topology_.links[arc.link].bandwidth : topology_.limits[arc.limit].bandwidth;
  }

  // The new ratio is counted from the cut itself, in chunks and in bandwidth, so numbers do not grow from
  // guess to guess.
  void read_cut(Rank v, std::int64_t& owed, std::int64_t& per_round) {
    prices_ = {.links = std::vector<int>(topology_.links.size(), 0),
               .limits = std::vector<int>(topology_.limits.size(), 0)};
    owed = per_round = 0;
    for (std::size_t i = 0; i < classes_.size(); ++i)
      if (flow_.on_source_side(class_node(i)) &&
          std::binary_search(classes_[i].post.begin(), classes_[i].post.end(), v))
        owed += classes_[i].count();
    for (std::size_t w = 0; w < arcs_.size(); ++w) {
      const NetworkArc& arc = network_.arcs[w];
      if (!is_narrow(arc) || !flow_.in_cut(arcs_[w])) continue;
      (arc.link >= 0 ? prices_.links[arc.link] : prices_.limits[arc.limit]) = 1;
      per_round += bandwidth(arc);
    }
    assert(per_round > 0);  // otherwise v is out of reach
  }

  const Topology& topology_;
  const std::vector<ChunkClass>& classes_;
  const CapacityNetwork network_;
  const int source_;
  MaxFlow flow_;
  std::int64_t all_chunks_ = 0;
  std::int64_t widest_ = 0;     // all bandwidths together
  std::vector<int> arcs_ = {};  // by arc
  std::vector<int> supply_ = {};
  Prices prices_ = {};
};

// What each rank needs, over what its links carry: where Newton's method starts. Limits are ignored, so it
// starts lower, and still from a bound.
Rank tightest_entry(const Topology& topology, const std::vector<ChunkClass>& classes, std::int64_t& owed,
                    std::int64_t& per_round) {
  std::vector<std::int64_t> wants(topology.ranks, 0), enters(topology.ranks, 0);
  for (const ChunkClass& c : classes)
    for (Rank d : c.post) wants[d] += c.count();
  for (const Link& link : topology.links) enters[link.dst] += link.bandwidth;
  Rank tightest = -1;
  for (Rank v = 0; v < topology.ranks; ++v) {
    if (wants[v] == 0) continue;
    if (tightest >= 0 && Wide{wants[v]} * enters[tightest] <= Wide{wants[tightest]} * enters[v]) continue;
    tightest = v;
  }
  if (tightest >= 0) {
    owed = wants[tightest];
    per_round = enters[tightest];
  }
  return tightest;
}

// All ranks, first one of each colour.
struct Different {
  std::vector<Rank> order = {};
  std::size_t colours = 0;  // of so many first ones
};
Different different_first(const Topology& topology) {
  const MachineColours colours = machine_colours(topology, std::vector<std::int64_t>(topology.ranks, 0));
  std::vector<bool> seen(colours.ranks, false);
  std::vector<Rank> order, others;
  for (Rank n = 0; n < topology.ranks; ++n) {
    (seen[colours.rank[n]] ? others : order).push_back(n);
    seen[colours.rank[n]] = true;
  }
  const std::size_t different = order.size();
  order.insert(order.end(), others.begin(), others.end());
  return {.order = std::move(order), .colours = different};
}

}  // namespace

std::optional<PriceBound> tightest_cut(const Topology& topology, const std::vector<ChunkClass>& classes,
                                       const std::atomic<bool>* stop, const std::vector<Rank>& destinations) {
  PriceBound bound;
  const Rank entry = tightest_entry(topology, classes, bound.owed, bound.per_round);
  if (entry < 0) return std::nullopt;
  Prices prices{.links = std::vector<int>(topology.links.size(), 0),
                .limits = std::vector<int>(topology.limits.size(), 0)};
  for (std::size_t l = 0; l < topology.links.size(); ++l)
    prices.links[l] = topology.links[l].dst == entry ? 1 : 0;
  CutNetwork network(topology, classes);
  bool found = network.tighten(entry, bound.owed, bound.per_round);
  const Different ranks =
      destinations.empty() ? different_first(topology) : Different{destinations, destinations.size()};
  for (std::size_t i = 0; i < ranks.order.size(); ++i) {
    const long long most = i < ranks.colours ? kMostWork : kMostOfAlike;
    if (network.work() > most || (stop != nullptr && *stop)) break;
    const Rank v = ranks.order[i];
    if (v != entry && network.tighten(v, bound.owed, bound.per_round)) found = true;
  }
  bound.prices = {found ? network.prices() : prices};
  return bound;
}

// Which side a chunk starts on is clear where all of its sources are on one; else it pays nothing.
std::optional<Prices> tightest_half_cut(const Topology& topology, const std::vector<ChunkClass>& classes,
                                        const std::atomic<bool>* stop) {
  if (!topology.limits.empty()) return std::nullopt;
  std::int64_t owed = 0, per_round = 1;
  std::vector<bool> tightest;  // before the cut
  const auto look_at = [&](const std::vector<bool>& before) {
    std::int64_t crossing = 0, wide = 0;
    for (const ChunkClass& c : classes)
      if (!before[c.post.front()] && std::ranges::all_of(c.pre, [&](Rank n) { return before[n]; }))
        crossing += c.count();
    for (const Link& link : topology.links)
      if (before[link.src] && !before[link.dst]) wide += link.bandwidth;
    if (wide == 0 || Wide{crossing} * per_round <= Wide{owed} * wide) return;
    owed = crossing;
    per_round = wide;
    tightest = before;
  };
  for (int stride = 1; stride < topology.ranks; ++stride) {
    if (topology.ranks % stride != 0) continue;
    for (int values = 2; values <= topology.ranks / stride; ++values) {
      if (topology.ranks / stride % values != 0 || (stop != nullptr && *stop)) continue;
      std::vector<bool> before(topology.ranks);
      for (Rank n = 0; n < topology.ranks; ++n) before[n] = n / stride % values < values / 2;
      look_at(before);
      before.flip();
      look_at(before);
    }
  }
  if (owed == 0) return std::nullopt;
  Prices prices{.links = std::vector<int>(topology.links.size(), 0)};
  for (std::size_t l = 0; l < topology.links.size(); ++l)
    prices.links[l] = tightest[topology.links[l].src] && !tightest[topology.links[l].dst] ? 1 : 0;
  return prices;
}

}  // namespace chorale
