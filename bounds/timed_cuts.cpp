// The machine is folded first: ranks of one colour as seen from the destination (colour_refinement.h) become
// one node, links and limits between them one arc with their bandwidths added up. A flow can be averaged over
// a colour, so nothing is lost; ring:256 has 129 nodes, torus:32x32 153, dgx-a100:128 four.
//
// Plain cutting planes ask about corners of the program over r, which put all rounds into few steps, and add
// a cut for each step that has none. So a point between the corner and the best feasible r known is tested
// ("in-out separation", Ben-Ameur and Neto 2007): either it is feasible, which lowers the upper bound, or its
// cut also cuts off the corner. It ends when both bounds round up to the same number, mostly at once: the
// first feasible r are those in which every chunk moves without waiting, scaled, and constant ones.
//
// Why the answer is prices: each cut, with what has to cross it, states sum of r_t * (what a round of step t
// lets through it) >= what is owed. The duals of the program over r weigh the cuts such that in each step a
// round pays at most 1 over all of them; a cut's links get its weight as their price, and the demands pay at
// least the weighted sum of what is owed, the objective. That bound holds after any number of cuts, so the
// search may be stopped wherever its work is spent.
#include "bounds/timed_cuts.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "bounds/clp.h"
#include "bounds/colour_refinement.h"
#include "graph/max_flow.h"
#include "graph/paths.h"

namespace chorale {
namespace {

constexpr int kCuts = 200;  // in one program over r; Allgather on ring:256, torus:32x32, hypercube:8: none
constexpr int kMaxCutIterations = 20'000;  // of the simplex method
constexpr double kFlowPerChunk = 1 << 24;  // flow is counted in such parts of a chunk
constexpr double kNearTimed = 1e-6;
constexpr int kMostLayers = 4096;  // MaxFlow::push calls itself up to three times for each

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The machine as seen from the common end (`hub`) of all flows: the one destination, or the one source with
// all links and steps reversed.
class Folded {
 public:
  struct Arc {  // links between two nodes under the same ports
    int from = 0;
    int to = 0;
    int out = -1;  // port, or -1
    int in = -1;
    std::int64_t bandwidth = 0;
    std::vector<LinkId> links = {};
  };
  struct Port {
    std::int64_t bandwidth = 0;
    std::vector<int> limits = {};
  };

  Folded(const Topology& topology, const RankSet& hub, const std::vector<std::int64_t>& supply, bool turned)
      : turned_(turned) {
    // The initial tags of ranks: how much they have to send, and whether they are the common end. Several
    // ranks of it are one node, whatever else they are.
    std::vector<std::int64_t> tags = supply;
    for (Rank n : hub) tags[n] = -1;
    // Capacities and supplies within a colour add up: a flow of the machine, summed over colours, is a flow
    // of the folded one, and one of the folded machine can be spread evenly, since all ranks of a colour have
    // equally many links of each.
    MachineColours colours = machine_colours(topology, tags);
    hub_ = colours.rank[hub.front()];
    for (Rank n : hub) colours.rank[n] = hub_;
    supply_.assign(colours.ranks, 0);
    for (Rank n = 0; n < topology.ranks; ++n) supply_[colours.rank[n]] += std::max<std::int64_t>(0, tags[n]);
    ports_.resize(colours.limits);
    for (int z = 0; z < static_cast<int>(topology.limits.size()); ++z) {
      ports_[colours.limit[z]].bandwidth += topology.limits[z].bandwidth;
      ports_[colours.limit[z]].limits.push_back(z);
    }
    const Ports ports = ports_of(topology);
    assert(ports.possible);
    std::map<std::tuple<int, int, int, int>, int> number;
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l) {
      const Link& link = topology.links[l];
      Arc arc{.from = colours.rank[link.src], .to = colours.rank[link.dst]};
      arc.out = ports.out[l] < 0 ? -1 : colours.limit[ports.out[l]];
      arc.in = ports.in[l] < 0 ? -1 : colours.limit[ports.in[l]];
      if (turned) {
        std::swap(arc.from, arc.to);
        std::swap(arc.out, arc.in);
      }
      if (arc.from == arc.to || arc.from == hub_) continue;  // flow that waits arrives as well, or is there
      const auto [at, fresh] =
          number.try_emplace({arc.from, arc.to, arc.out, arc.in}, static_cast<int>(arcs_.size()));
      if (fresh) arcs_.push_back(arc);  // without links as yet
      arcs_[at->second].bandwidth += link.bandwidth;
      arcs_[at->second].links.push_back(l);
    }
    measure_distances();
  }

  int nodes() const { return static_cast<int>(supply_.size()); }
  int hub() const { return hub_; }
  bool turned() const { return turned_; }
  const std::vector<Arc>& arcs() const { return arcs_; }
  const std::vector<Port>& ports() const { return ports_; }
  const std::vector<std::int64_t>& supply() const { return supply_; }
  // In arcs, so in steps at least; -1 if never.
  int to_hub(int node) const { return to_hub_[node]; }
  int from_supply(int node) const { return from_supply_[node]; }

 private:
  void measure_distances() {
    to_hub_ = distances({hub_}, true);
    std::vector<int> suppliers;
    for (int k = 0; k < nodes(); ++k)
      if (supply_[k] > 0) suppliers.push_back(k);
    from_supply_ = distances(suppliers, false);
  }

  std::vector<int> distances(const std::vector<int>& from, bool backwards) const {
    std::vector<std::vector<int>> next(nodes());
    for (const Arc& arc : arcs_)
      backwards ? next[arc.to].push_back(arc.from) : next[arc.from].push_back(arc.to);
    return fewest_hops(nodes(), from, [&](int k, const auto& reach) {
      for (int to : next[k]) reach(to);
    });
  }

  const bool turned_;
  int hub_ = 0;
  std::vector<std::int64_t> supply_ = {};  // by node
  std::vector<Arc> arcs_ = {};
  std::vector<Port> ports_ = {};
  std::vector<int> to_hub_ = {};       // arcs, -1: none leads there
  std::vector<int> from_supply_ = {};  // from the nearest node with a supply
};

// Of which arcs and ports, by layer: what has to cross it, and what a round of each layer lets through.
struct TimedCut {
  std::int64_t owed = 0;
  std::vector<std::int64_t> per_round = {};     // by layer
  std::vector<std::pair<int, int>> arcs = {};   // layer, arc
  std::vector<std::pair<int, int>> ports = {};  // layer, port
};

// Nodes and ports at each time. Layer t lies between time t and t + 1.
class TimedNetwork {
 public:
  TimedNetwork(const Folded& folded, int layers, long long& work)
      : folded_(folded),
        work_(work),
        layers_(layers),
        width_(folded.nodes() + static_cast<int>(folded.ports().size())),
        source_(width_ * layers + folded.nodes()),
        flow_(source_ + 1) {
    // Nodes and ports of a layer lie side by side, `width_` of them, then those of the next; after the last
    // time only nodes, and the source. Ports hold nothing from layer to layer.
    const double total =
        static_cast<double>(std::accumulate(folded.supply().begin(), folded.supply().end(), std::int64_t{0}));
    const auto all = static_cast<std::int64_t>(total * kFlowPerChunk);
    for (int t = 0; t < layers; ++t) {
      std::vector<int> port(folded.ports().size(), -1);
      for (int a = 0; a < static_cast<int>(folded.arcs().size()); ++a) {
        const Folded::Arc& arc = folded.arcs()[a];
        if (!useful(arc.from, t) || !useful(arc.to, t + 1)) continue;
        if (arc.out >= 0 && port[arc.out] < 0) {
          port[arc.out] = flow_.add_arc(at(arc.from, t), port_at(arc.out, t), 0);
          ports_.push_back({.layer = t, .what = arc.out, .arc = port[arc.out]});
        }
        if (arc.in >= 0 && port[arc.in] < 0) {
          port[arc.in] = flow_.add_arc(port_at(arc.in, t), at(arc.to, t + 1), 0);
          ports_.push_back({.layer = t, .what = arc.in, .arc = port[arc.in]});
        }
        const int number = flow_.add_arc(arc.out < 0 ? at(arc.from, t) : port_at(arc.out, t),
                                         arc.in < 0 ? at(arc.to, t + 1) : port_at(arc.in, t), 0);
        arcs_.push_back({.layer = t, .what = a, .arc = number});
      }
      // After the links, so that flows try to move first: to wait first took ring:1024 40 times as long.
      for (int k = 0; k < folded.nodes(); ++k)
        if (useful(k, t) && useful(k, t + 1)) flow_.add_arc(at(k, t), at(k, t + 1), all);
    }
    for (int k = 0; k < folded.nodes(); ++k) {
      if (folded.supply()[k] == 0) continue;
      const auto units = static_cast<std::int64_t>(static_cast<double>(folded.supply()[k]) * kFlowPerChunk);
      supply_.emplace_back(k, flow_.add_arc(source_, at(k, 0), units));
      owed_ += units;
    }
  }

  // Does everything flow with these rounds of the layers?
  // The network stays, capacities change. The work of setting them counts, too.
  bool feasible(const std::vector<double>& rounds) {
    for (const Crossing& c : arcs_)
      flow_.set_capacity(c.arc, units(folded_.arcs()[c.what].bandwidth, rounds[c.layer]));
    for (const Crossing& c : ports_)
      flow_.set_capacity(c.arc, units(folded_.ports()[c.what].bandwidth, rounds[c.layer]));
    const long long before = flow_.work();
    const bool all = flow_.run(source_, at(folded_.hub(), layers_)) >= owed_;
    work_ -= static_cast<long long>(arcs_.size()) + flow_.work() - before;
    return all;
  }

  bool spent() const { return work_ <= 0; }

  // After it did not: what keeps it.
  TimedCut cut() {
    flow_.find_cut();
    TimedCut cut{.per_round = std::vector<std::int64_t>(layers_, 0)};
    for (const auto& [k, arc] : supply_)
      if (!flow_.in_cut(arc)) cut.owed += folded_.supply()[k];
    for (const Crossing& c : arcs_)
      if (flow_.in_cut(c.arc)) {
        cut.arcs.emplace_back(c.layer, c.what);
        cut.per_round[c.layer] += folded_.arcs()[c.what].bandwidth;
      }
    for (const Crossing& c : ports_)
      if (flow_.in_cut(c.arc)) {
        cut.ports.emplace_back(c.layer, c.what);
        cut.per_round[c.layer] += folded_.ports()[c.what].bandwidth;
      }
    return cut;
  }

 private:
  struct Crossing {
    int layer = 0;
    int what = 0;  // arc or port of the folded machine
    int arc = 0;   // of the flow
  };

  bool useful(int k, int time) const {
    return folded_.from_supply(k) >= 0 && folded_.to_hub(k) >= 0 && folded_.from_supply(k) <= time &&
           time + folded_.to_hub(k) <= layers_;
  }
  int at(int k, int time) const { return time * width_ + k; }
  int port_at(int port, int time) const { return time * width_ + folded_.nodes() + port; }

  // Rounded up: what is feasible in fractions stays so.
  static std::int64_t units(std::int64_t bandwidth, double rounds) {
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(bandwidth) * rounds * kFlowPerChunk));
  }

  const Folded& folded_;
  long long& work_;  // left
  const int layers_;
  const int width_;  // of a layer
  const int source_;
  MaxFlow flow_;
  std::int64_t owed_ = 0;
  std::vector<Crossing> arcs_ = {};
  std::vector<Crossing> ports_ = {};
  std::vector<std::pair<int, int>> supply_ = {};  // node, arc of the flow
};

class CuttingPlanes {
 public:
  CuttingPlanes(const Topology& topology, const Folded& folded, int steps, int known, long long& work)
      : topology_(topology), folded_(folded), steps_(steps), known_(known), network_(folded, steps, work) {}

  // inner_ is feasible, outer_ the least that the cuts so far allow: its sum is a bound at any time, inner_'s
  // is one from above.
  std::vector<Prices> run() {
    inner_ = first_feasible();
    while (!settled() && !network_.spent() && static_cast<int>(cuts_.size()) < kCuts) {
      std::vector<double> between(steps_);
      for (int t = 0; t < steps_; ++t) between[t] = (inner_[t] + outer_[t]) / 2;
      // The midpoint to the corner. Feasible: inner_ moves there. Not: the cut excludes this point, and the
      // corner behind it as well, since a line that has left what a cut allows does not come back.
      if (network_.feasible(between)) {
        inner_ = std::move(between);
      } else if (!add_cut()) {
        break;
      }
    }
    if (rounded(lower_) <= known_) return {};
    return prices();
  }

 private:
  static double rounded(double rounds) { return std::ceil(rounds - kNearTimed); }

  // No more can be learned: everything flows in what is known, or both bounds round up to the same.
  bool settled() const {
    const double upper = rounded(sum(inner_));
    return upper <= known_ || rounded(lower_) >= upper;
  }

  // Of rounds that are all equal, and those in which chunks arrive as they would without waiting: the fewest.
  std::vector<double> first_feasible() {
    outer_.assign(steps_, 0);
    std::vector<double> arriving(steps_, 0);
    std::int64_t into_hub = 0, total = 0;
    for (const Folded::Arc& arc : folded_.arcs())
      if (arc.to == folded_.hub()) into_hub += arc.bandwidth;
    for (int k = 0; k < folded_.nodes(); ++k) {
      total += folded_.supply()[k];
      if (folded_.supply()[k] > 0)
        arriving[std::max(1, folded_.to_hub(k)) - 1] +=
            static_cast<double>(folded_.supply()[k]) / static_cast<double>(into_hub);
    }
    const std::vector<double> equal(steps_, 1);
    // `total` rounds in every step let any link carry all there is.
    std::vector<double> best = scaled(equal, static_cast<double>(total));
    for (const std::vector<double>* shape : {&equal, static_cast<const std::vector<double>*>(&arriving)})
      if (std::vector<double> found = least_multiple(*shape, sum(best)); !found.empty()) best = found;
    return best;
  }

  static std::vector<double> scaled(std::vector<double> shape, double factor) {
    for (double& r : shape) r *= factor;
    return shape;
  }

  // Feasible, by bisection, with fewer than `most` rounds in all; the first try is what is known.
  std::vector<double> least_multiple(const std::vector<double>& shape, double most) {
    // It is for a first feasible point, which only has to be good; the cuts do the rest.
    constexpr int kHalvings = 6;
    const double unit = sum(shape);
    if (unit <= 0) return {};
    double low = 0, high = most / unit;
    std::vector<double> best;
    double factor = std::min(high, known_ / unit);
    for (int i = 0; i < kHalvings && low < high && !network_.spent(); ++i) {
      if (network_.feasible(scaled(shape, factor))) {
        best = scaled(shape, factor);
        high = factor;
        if (sum(best) <= known_ + kNearTimed) return best;
      } else {
        low = factor;
      }
      factor = (low + high) / 2;
    }
    return best;
  }

  // Adds the cut of the flow that failed last; false if it is not new.
  bool add_cut() {
    cuts_.push_back(network_.cut());
    LinearProgram program;
    for (int t = 0; t < steps_; ++t) program.add_column(1);
    for (const TimedCut& cut : cuts_) {
      const int row = program.add_row(static_cast<double>(cut.owed), kNoLimit);
      for (int t = 0; t < steps_; ++t)
        if (cut.per_round[t] > 0)
          program.entries.push_back(
              {.row = row, .column = t, .value = static_cast<double>(cut.per_round[t])});
    }
    const LpSolution solution = solve(program, kMaxCutIterations);
    // The same corner again: the cut is one of rounding, and there is no more to be learned.
    if (!solution.optimal || solution.values == outer_) return false;
    outer_ = solution.values;
    duals_ = solution.duals;
    lower_ = solution.objective;
    return true;
  }

  // Each cut's links at its price.
  std::vector<Prices> prices() const {
    const std::size_t links = topology_.links.size();
    std::vector<std::vector<double>> values(steps_, std::vector<double>(links + topology_.limits.size(), 0));
    for (std::size_t i = 0; i < duals_.size(); ++i) {
      for (const auto& [layer, a] : cuts_[i].arcs)
        for (LinkId l : folded_.arcs()[a].links) values[step_of(layer)][l] += duals_[i];
      for (const auto& [layer, port] : cuts_[i].ports)
        for (int z : folded_.ports()[port].limits) values[step_of(layer)][links + z] += duals_[i];
    }
    return integer_prices(std::move(values), static_cast<int>(links));
  }

  int step_of(int layer) const { return folded_.turned() ? steps_ - 1 - layer : layer; }

  const Topology& topology_;
  const Folded& folded_;
  const int steps_;
  const int known_;
  TimedNetwork network_;
  std::vector<TimedCut> cuts_ = {};
  std::vector<double> inner_ = {};  // rounds of each layer in which everything flows
  std::vector<double> outer_ = {};  // the fewest that no cut so far excludes
  std::vector<double> duals_ = {};  // by cut
  double lower_ = 0;                // sum of outer_
};

}  // namespace

std::vector<Prices> timed_cut_prices(const Topology& topology, const std::vector<Demand>& demands, int steps,
                                     int known, long long& work) {
  // With `total` rounds in each step, any link carries all that there is; where that is within `known`, no
  // more than `known` can be shown.
  std::int64_t total = 0;
  for (const Demand& demand : demands) total += demand.amount;
  if (total <= known / steps) return {};
  const bool turned = std::any_of(demands.begin(), demands.end(),
                                  [&](const Demand& demand) { return demand.to != demands.front().to; });
  // One destination: everything flows to it. Else one set of sources, as the caller promises: reversed, to
  // those.
  const RankSet hub = turned ? demands.front().from : RankSet{demands.front().to};
  std::vector<std::int64_t> supply(topology.ranks, 0);
  for (const Demand& demand : demands) {
    if (!turned && demand.from.size() != 1)
      return {};  // whichever has it may send it: not a supply of one rank
    supply[turned ? demand.to : demand.from.front()] += demand.amount;
  }
  const Folded folded(topology, hub, supply, turned);
  const auto arcs = static_cast<long long>(folded.arcs().size() + folded.ports().size()) + folded.nodes();
  if (steps > kMostLayers || arcs * steps > work) return {};
  return CuttingPlanes(topology, folded, steps, known, work).run();
}

}  // namespace chorale
