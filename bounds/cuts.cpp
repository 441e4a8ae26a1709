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

#include "bounds/clp.h"
#include "bounds/colour_refinement.h"
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
    prices_ = no_prices(topology_);
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
  Prices prices = no_prices(topology);
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

// Where limits are ports, a minimum cut. Over any limits: a linear program, whose best prices may be
// fractions (three limits, each two of which share a link: a half on each), so that a link costs 2 or more
// once they are integers (docs/bounds.md has m for that).
namespace {

constexpr int kCoverIterations = 50'000;  // of the simplex method

// A minimum vertex cover, with the links as edges between out-ports and in-ports: again a minimum cut. A link
// has three that can pay for it, its out-port, itself and its in-port, which lie on its path from the source
// to the sink one after the other; links share ports, and a cut pays for a port once. Cuts consist of entire
// arcs, so prices are 0 or 1.
Prices cover_of_ports(const Topology& topology, const std::vector<bool>& links) {
  const Ports ports = ports_of(topology);
  const int limits = static_cast<int>(topology.limits.size());
  const int source = limits, sink = limits + 1;
  MaxFlow flow(limits + 2);
  std::vector<int> port(limits, -1), arc(topology.links.size(), -1);
  for (std::size_t l = 0; l < topology.links.size(); ++l) {
    if (!links[l]) continue;
    const Link& link = topology.links[l];
    const int out = ports.out[l], in = ports.in[l];
    if (out >= 0 && port[out] < 0) port[out] = flow.add_arc(source, out, topology.limits[out].bandwidth);
    if (in >= 0 && port[in] < 0) port[in] = flow.add_arc(in, sink, topology.limits[in].bandwidth);
    arc[l] = flow.add_arc(out < 0 ? source : out, in < 0 ? sink : in, link.bandwidth);
  }
  flow.run(source, sink);
  flow.find_cut();
  Prices prices{.links = std::vector<int>(topology.links.size(), 0), .limits = std::vector<int>(limits, 0)};
  for (std::size_t l = 0; l < arc.size(); ++l)
    if (arc[l] >= 0 && flow.in_cut(arc[l])) prices.links[l] = 1;
  for (int z = 0; z < limits; ++z)
    if (port[z] >= 0 && flow.in_cut(port[z])) prices.limits[z] = 1;
  return prices;
}

Prices cover_by_program(const Topology& topology, const std::vector<bool>& links) {
  LinearProgram program;
  for (const Link& link : topology.links) program.add_column(link.bandwidth);
  for (const SharedLimit& limit : topology.limits) program.add_column(limit.bandwidth);
  const int count = static_cast<int>(links.size());
  std::vector<int> row(links.size(), -1);
  for (int l = 0; l < count; ++l) {
    if (!links[l]) continue;
    row[l] = program.add_row(1, kNoLimit);
    program.entries.push_back({.row = row[l], .column = l, .value = 1});
  }
  for (int z = 0; z < static_cast<int>(topology.limits.size()); ++z)
    for (const LinkId l : topology.limits[z].links)
      if (row[l] >= 0) program.entries.push_back({.row = row[l], .column = count + z, .value = 1});
  const LpSolution solution = solve_by_colours(program, refine_colours(program), kCoverIterations);
  std::vector<Prices> prices = integer_prices({solution.values}, count);
  if (!prices.empty()) return std::move(prices.front());
  return {.links = std::vector<int>(links.size(), 1), .limits = std::vector<int>(topology.limits.size(), 0)};
}

}  // namespace

std::vector<bool> crossing_links(const Topology& topology, const std::vector<int>& group) {
  std::vector<bool> crosses(topology.links.size());
  for (std::size_t l = 0; l < crosses.size(); ++l)
    crosses[l] = group[topology.links[l].src] != group[topology.links[l].dst];
  return crosses;
}

Prices cheapest_cover(const Topology& topology, const std::vector<bool>& links) {
  return limits_are_ports(topology) ? cover_of_ports(topology, links) : cover_by_program(topology, links);
}

std::vector<double> fair_shares(const Topology& topology, std::vector<bool> grows) {
  std::vector<double> shares(topology.links.size(), 0);
  for (std::size_t l = 0; l < shares.size(); ++l)
    if (grows[l]) shares[l] = topology.links[l].bandwidth;
  // All grow in proportion to their bandwidths until a limit over them is full, which stops its links.
  std::vector<bool> open(topology.limits.size(), true);
  for (;;) {
    double least = 1;
    std::vector<double> until(topology.limits.size(), 2);
    for (std::size_t z = 0; z < open.size(); ++z) {
      if (!open[z]) continue;
      double left = topology.limits[z].bandwidth, growing = 0;
      for (const LinkId l : topology.limits[z].links)
        (grows[l] ? growing : left) += grows[l] ? topology.links[l].bandwidth : -shares[l];
      if (growing <= 0) {
        open[z] = false;
        continue;
      }
      until[z] = std::max(0.0, left) / growing;
      least = std::min(least, until[z]);
    }
    if (least >= 1) return shares;
    for (std::size_t z = 0; z < open.size(); ++z) {
      if (!open[z] || until[z] > least * (1 + 1e-12)) continue;
      open[z] = false;
      for (const LinkId l : topology.limits[z].links)
        if (grows[l]) {
          grows[l] = false;
          shares[l] = topology.links[l].bandwidth * least;
        }
    }
  }
}

}  // namespace chorale
