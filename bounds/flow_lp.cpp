// A row per capacity, then a row per rank (and time) for each commodity, "what comes in covers what goes out
// and stays"; a column per arc. Capacities come first and in a fixed order, since their duals are the prices.
// What cannot be of use, because it is too far from the sources or too late for the destinations, gets no
// column. Every solution is shrunk by its own symmetry before Clp solves it, and only ratios of duals leave,
// as integers.
//
// Why duals are prices: a capacity's row is bandwidth * rounds >= flow, so its dual is what a unit of that
// capacity is worth. The column of a step's rounds costs 1 and is charged bandwidth * dual: a round can be
// paid at most 1. An arc's column costs nothing: from tail to head, the dual of the rank's row rises by no
// more than the prices over it, so the duals of ranks are at most distances under the prices, and the
// objective is what all demands pay. That is the bound of docs/bounds.md, and by duality no prices show more
// (for these demands).
//
// Rows are inequalities so that all duals are nonnegative: a flow may lose something along its path, which
// never helps it.
#include "bounds/flow_lp.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "graph/paths.h"

namespace chorale {
namespace {

constexpr int kIterations = 200'000;  // of the simplex method; ours need a few hundred

}  // namespace

FlowProgram::FlowProgram(const Topology& topology, const std::vector<Demand>& demands, int steps)
    : topology_(topology), timed_(steps > 0), layers_(std::max(1, steps)), limits_of_(topology.links.size()) {
  for (std::size_t z = 0; z < topology.limits.size(); ++z)
    for (LinkId l : topology.limits[z].links) limits_of_[l].push_back(static_cast<int>(z));
  std::map<RankSet, Commodity> by_source, by_destination;
  for (const Demand& demand : demands) {
    unit_ = std::gcd(unit_, demand.amount);
    by_source[demand.from].ends.push_back({{demand.to}, demand.amount});
    by_destination[{demand.to}].ends.push_back({demand.from, demand.amount});
  }
  // A commodity may have many ends but one beginning, since a flow from one beginning splits into paths to
  // its ends, whatever it mixes in between. With few destinations, flows are reversed: Gather to one rank is
  // one commodity, not one per source.
  turned_ = by_destination.size() < by_source.size();
  for (auto& [hub, commodity] : turned_ ? by_destination : by_source) {
    commodity.hub = hub;
    commodities_.push_back(std::move(commodity));
  }
}

std::int64_t FlowProgram::size() const {
  const std::int64_t a_layer =
      static_cast<std::int64_t>(topology_.links.size()) + (timed_ ? topology_.ranks : 0);
  return a_layer * layers_ * static_cast<std::int64_t>(commodities_.size());
}

// Links to the nearest of `from` (backwards: from there to it), in the direction of the flow; -1 if out of
// reach.
std::vector<int> FlowProgram::distances(const RankSet& from, bool backwards) const {
  std::vector<std::vector<Rank>> next(topology_.ranks);
  for (LinkId l = 0; l < static_cast<int>(topology_.links.size()); ++l)
    backwards ? next[head(l)].push_back(tail(l)) : next[tail(l)].push_back(head(l));
  return fewest_hops(topology_.ranks, from, [&](Rank n, const auto& reach) {
    for (Rank m : next[n]) reach(m);
  });
}

// The rows of capacities come first, layer by layer, links before limits: prices() reads their duals.
void FlowProgram::add_capacities() {
  for (int layer = 0; layer < layers_; ++layer) {
    const int rounds = program_.add_column(1);
    for (const Link& link : topology_.links)
      program_.entries.push_back({.row = program_.add_row(0, kNoLimit),
                                  .column = rounds,
                                  .value = static_cast<double>(link.bandwidth)});
    for (const SharedLimit& limit : topology_.limits)
      program_.entries.push_back({.row = program_.add_row(0, kNoLimit),
                                  .column = rounds,
                                  .value = static_cast<double>(limit.bandwidth)});
  }
}

// One commodity's columns (an arc each) and rows (at each rank and time: what comes in covers what goes out
// and stays).
class FlowProgram::Builder {
 public:
  Builder(FlowProgram& flow, const Commodity& commodity)
      : flow_(flow), commodity_(commodity), layers_(flow.layers_), ranks_(flow.topology_.ranks) {
    // since_ and left_ are hops, which know nothing of capacities: what they leave out cannot be part of any
    // flow, what they keep may be.
    std::vector<Rank> ends;
    for (const auto& [set, amount] : commodity.ends) ends.insert(ends.end(), set.begin(), set.end());
    since_ = flow.distances(commodity.hub, false);
    left_ = flow.distances(ends, true);
    row_.assign(static_cast<std::size_t>(ranks_) * (layers_ + 1), -1);
  }

  void build() {
    if (flow_.timed_) {
      for (int layer = 0; layer < layers_; ++layer) {
        for (LinkId l = 0; l < static_cast<int>(flow_.topology_.links.size()); ++l)
          add_arc(flow_.tail(l), flow_.head(l), layer, l);
        for (Rank n = 0; n < ranks_; ++n) add_arc(n, n, layer, -1);
      }
    } else {
      for (LinkId l = 0; l < static_cast<int>(flow_.topology_.links.size()); ++l)
        add_arc(flow_.tail(l), flow_.head(l), 0, l);
    }
    for (const auto& [set, amount] : commodity_.ends) add_end(set, static_cast<double>(amount / flow_.unit_));
  }

 private:
  bool in_hub(Rank n) const { return since_[n] == 0; }

  // At this time, flow from the commodity's common end (`hub`) can have reached n, and from n it can still
  // reach an end.
  bool useful(Rank n, int time) const {
    if (since_[n] < 0 || left_[n] < 0) return false;
    return !flow_.timed_ || (since_[n] <= time && time + left_[n] <= layers_);
  }

  // What arrives in n by `time` less what leaves from there >= what ends there.
  int row(Rank n, int time) {
    int& r = row_[static_cast<std::size_t>(flow_.timed_ ? time : 0) * ranks_ + n];
    if (r < 0) r = flow_.program_.add_row(0, kNoLimit);
    return r;
  }

  void add_arc(Rank from, Rank to, int layer, LinkId l) {
    // The common end (`hub`) has no rows: it supplies flow at any time, and flow that would return to it
    // might as well have started there. So arcs into it are useless, and waiting there needs none.
    if (in_hub(to) || !useful(from, layer) || !useful(to, layer + 1)) return;
    LinearProgram& program = flow_.program_;
    const int column = program.add_column(0);
    program.entries.push_back({.row = row(to, layer + 1), .column = column, .value = 1});
    if (!in_hub(from)) program.entries.push_back({.row = row(from, layer), .column = column, .value = -1});
    if (l < 0) return;
    const int links = static_cast<int>(flow_.topology_.links.size());
    const int limits = static_cast<int>(flow_.topology_.limits.size());
    // Capacities are counted by steps of the schedule, also where the flow goes backwards: layer 0 is then
    // the last step.
    const int first = flow_.step_of(layer) * (links + limits);
    program.entries.push_back({.row = first + l, .column = column, .value = -1});
    for (int z : flow_.limits_of_[l])
      program.entries.push_back({.row = first + links + z, .column = column, .value = -1});
  }

  // One rank takes it in its own row. Several (reversed: any rank that has the chunk may give it) share a row
  // for the amount, and a column for each is its share.
  void add_end(const RankSet& set, double amount) {
    LinearProgram& program = flow_.program_;
    if (set.size() == 1) {
      program.low[row(set.front(), layers_)] += amount;
      return;
    }
    const int wanted = program.add_row(amount, kNoLimit);
    for (Rank n : set) {
      if (!useful(n, layers_)) continue;
      const int column = program.add_column(0);
      program.entries.push_back({.row = wanted, .column = column, .value = 1});
      program.entries.push_back({.row = row(n, layers_), .column = column, .value = -1});
    }
  }

  FlowProgram& flow_;
  const Commodity& commodity_;
  const int layers_;
  const int ranks_;
  std::vector<int> since_ = {};  // links from the common end (`hub`)
  std::vector<int> left_ = {};   // links to an end
  std::vector<int> row_ = {};    // by time and rank
};

void FlowProgram::build() {
  add_capacities();
  for (const Commodity& commodity : commodities_) Builder(*this, commodity).build();
  colouring_ = refine_colours(program_);
}

std::vector<Prices> FlowProgram::prices() const {
  const LpSolution solution = solve_by_colours(program_, colouring_, kIterations);
  if (!solution.optimal) return {};
  const std::size_t a_layer = topology_.links.size() + topology_.limits.size();
  std::vector<std::vector<double>> values;
  for (int step = 0; step < layers_; ++step) {
    // Rows of capacities are the first ones, in the order of add_capacities.
    const auto first = solution.duals.begin() + static_cast<std::ptrdiff_t>(step * a_layer);
    values.emplace_back(first, first + static_cast<std::ptrdiff_t>(a_layer));
  }
  return integer_prices(std::move(values), static_cast<int>(topology_.links.size()));
}

}  // namespace chorale
