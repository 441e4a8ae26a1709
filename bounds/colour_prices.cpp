// What prices w show is sum(count * cheapest path) with sum(bandwidth * w) = 1: concave in w, and its slope
// is what the cheapest paths use of each colour. So Kelley's cutting planes (1960): a small program over the
// prices of the colours, to which every answer adds the paths that are cheapest under it. On a symmetric
// machine some best prices are equal on orbits, so that finds the optimum; paths are searched from one source
// of each colour, which represents all.
//
// The flow program itself (flow_lp.h) has a column per source and link: 131,000 on ring:256, 8 s to shrink
// and solve; here ring:256 is one evaluation, dgx-a100:128 a handful.
//
// Invariant: `most` is shown by prices that were met, and none that are equal on colours show more than
// `at_most`; it ends when they meet. Numbers are doubles throughout, since what leaves is made of integers
// and priced again (demand.h): an error here costs strength.
#include "bounds/colour_prices.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "bounds/clp.h"
#include "bounds/integer_prices.h"
#include "bounds/machine_colours.h"
#include "graph/paths.h"

namespace chorale {
namespace {

constexpr int kMostColours = 64;
constexpr int kTurns = 60;
constexpr int kMasterIterations = 20'000;  // of the simplex method

// All chunks of some sources: where they must go, from one of the sources.
struct Bundle {
  RankSet from = {};
  std::vector<std::pair<Rank, std::int64_t>> to = {};
  std::int64_t times = 1;
};

class ColourPrices {
 public:
  ColourPrices(const Topology& topology, const std::vector<ChunkClass>& classes)
      : topology_(topology), limits_of_(topology.links.size()), leaving_(topology.ranks) {
    // What a rank has weighs more in its tag than what it needs: ranks that differ in one of them rarely have
    // the same tag.
    std::vector<std::int64_t> tags(topology.ranks, 0);
    for (const ChunkClass& c : classes) {
      for (Rank n : c.pre) tags[n] += c.count() * static_cast<std::int64_t>(topology.ranks);
      tags[c.post.front()] += c.count();
    }
    colours_ = machine_colours(topology, tags);
    budget_.assign(colours_.links + colours_.limits, 0);
    for (std::size_t l = 0; l < topology.links.size(); ++l) {
      budget_[colours_.link[l]] += topology.links[l].bandwidth;
      leaving_[topology.links[l].src].push_back(static_cast<LinkId>(l));
    }
    for (std::size_t z = 0; z < topology.limits.size(); ++z) {
      budget_[colours_.links + colours_.limit[z]] += topology.limits[z].bandwidth;
      for (LinkId l : topology.limits[z].links) limits_of_[l].push_back(colours_.links + colours_.limit[z]);
    }
    bundle(classes);
  }

  std::vector<Prices> run() {
    if (static_cast<int>(budget_.size()) > kMostColours) return {};
    std::vector<double> w(budget_.size(), 0), best;
    double paid = 0;  // by links that all cost the same
    for (int g = 0; g < colours_.links; ++g) paid += budget_[g];
    for (int g = 0; g < colours_.links; ++g) w[g] = 1 / paid;
    double most = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      // Scaled such that a round pays 1, what is owed is the bound itself. No price vector w' shows more than
      // sum(use * w'), since the paths that are cheapest under w are there under w', too: each `use` is a
      // plane above the bound, which touches it at w.
      const std::vector<double> use = used(w);
      double shown = 0;
      for (std::size_t g = 0; g < w.size(); ++g) shown += use[g] * w[g];
      if (shown > most) {
        most = shown;
        best = w;
      }
      double at_most = 0;
      w = next(use, at_most);
      if (w.empty() || at_most <= most * (1 + 1e-9)) break;
    }
    return prices(best);
  }

 private:
  // Ranks of a colour have equally much to send; the first one's chunks stand for all.
  void bundle(const std::vector<ChunkClass>& classes) {
    std::map<int, std::size_t> first;  // bundle of a colour
    for (std::size_t i = 0; i < classes.size();) {
      std::size_t end = i;
      while (end < classes.size() && classes[end].pre == classes[i].pre) ++end;
      const bool alone = classes[i].pre.size() == 1;
      const auto at = alone ? first.find(colours_.rank[classes[i].pre.front()]) : first.end();
      if (at != first.end()) {
        ++bundles_[at->second].times;
      } else {
        if (alone) first[colours_.rank[classes[i].pre.front()]] = bundles_.size();
        Bundle& fresh = bundles_.emplace_back(Bundle{.from = classes[i].pre});
        for (std::size_t j = i; j < end; ++j)
          fresh.to.emplace_back(classes[j].post.front(), classes[j].count());
      }
      i = end;
    }
  }

  // What the cheapest paths use of each colour.
  std::vector<double> used(const std::vector<double>& w) const {
    std::vector<double> cost(topology_.links.size()), use(w.size(), 0);
    for (std::size_t l = 0; l < cost.size(); ++l) {
      cost[l] = w[colours_.link[l]];
      for (int g : limits_of_[l]) cost[l] += w[g];
    }
    for (const Bundle& bundle : bundles_) {
      const CheapestPaths<double> paths = cheapest_paths(
          topology_.ranks, bundle.from, 0.0, kNoLimit, [&](Rank n, double so_far, const auto& reach) {
            for (LinkId l : leaving_[n]) reach(topology_.links[l].dst, l, so_far + cost[l]);
          });
      std::vector<double> carried(topology_.ranks, 0);
      for (const auto& [d, count] : bundle.to) carried[d] += static_cast<double>(count * bundle.times);
      // Farthest first: when a rank is processed, all that goes through it has been added to what it needs
      // itself, and its one link towards the source carries the sum. So a tree is walked once, whatever the
      // number of destinations.
      for (auto n = paths.order.rbegin(); n != paths.order.rend(); ++n) {
        const LinkId over = paths.by[*n];
        if (over < 0) continue;
        carried[paths.before[*n]] += carried[*n];
        use[colours_.link[over]] += carried[*n];
        for (int g : limits_of_[over]) use[g] += carried[*n];
      }
    }
    return use;
  }

  // The prices that show the most, by the paths met so far; `at_most` is that bound.
  std::vector<double> next(const std::vector<double>& use, double& at_most) {
    uses_.push_back(use);
    // maximise `shown` such that a round pays at most 1, and each set of paths met pays at least that. Made
    // again in each iteration: it has at most 61 rows and 65 columns.
    LinearProgram program;
    const int colours = static_cast<int>(budget_.size());
    for (int g = 0; g < colours; ++g) program.add_column(0);
    const int shown = program.add_column(-1);
    // -sum(budget * w) >= -1
    const int pays = program.add_row(-1, kNoLimit);
    for (int g = 0; g < colours; ++g)
      program.entries.push_back({.row = pays, .column = g, .value = -static_cast<double>(budget_[g])});
    for (const std::vector<double>& met : uses_) {
      const int row = program.add_row(0, kNoLimit);
      program.entries.push_back({.row = row, .column = shown, .value = -1});
      for (int g = 0; g < colours; ++g)
        if (met[g] > 0) program.entries.push_back({.row = row, .column = g, .value = met[g]});
    }
    const LpSolution solution = solve(program, kMasterIterations);
    if (!solution.optimal) return {};
    at_most = -solution.objective;
    return {solution.values.begin(), solution.values.begin() + colours};
  }

  std::vector<Prices> prices(const std::vector<double>& w) const {
    std::vector<double> values;
    for (int colour : colours_.link) values.push_back(w[colour]);
    for (int colour : colours_.limit) values.push_back(w[colours_.links + colour]);
    return integer_prices({std::move(values)}, static_cast<int>(topology_.links.size()));
  }

  const Topology& topology_;
  MachineColours colours_ = {};
  std::vector<std::int64_t> budget_ = {};       // bandwidth by colour, links before limits
  std::vector<std::vector<int>> limits_of_;     // colours of limits, by link
  std::vector<std::vector<LinkId>> leaving_;    // by rank
  std::vector<Bundle> bundles_ = {};            // one of each colour of sources
  std::vector<std::vector<double>> uses_ = {};  // [iteration][colour]
};

}  // namespace

std::vector<Prices> colour_prices(const Topology& topology, const std::vector<ChunkClass>& classes) {
  return ColourPrices(topology, classes).run();
}

}  // namespace chorale
