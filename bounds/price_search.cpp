// Three methods to find prices, by size. Small programs of flows are solved as they are, shrunk by their own
// symmetry; of equal ones only one. Beyond that, one commodity in few steps is solved by its cuts
// (timed_cuts.h), for one rank of each colour of the machine; and many commodities in any number of steps
// with prices that are equal for links of one colour (colour_prices). The volume bound covers the rest. Clp
// on what lies between was tried: ring:256 has 49,000 columns even when shrunk, and no answer after a minute.
//
// Invariant: `best_` is a bound of all chunks, whatever it was found for: everything found is priced again by
// pay(). So what is left out, by size, by work, by colours that are coarser than orbits, costs strength and
// never soundness; and limits are in columns and arcs, not in seconds, so that the same question has the same
// bound on every machine.
#include "bounds/price_search.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "bounds/clp.h"
#include "bounds/colour_refinement.h"
#include "bounds/cut_climb.h"
#include "bounds/cuts.h"
#include "bounds/flow_lp.h"
#include "bounds/timed_cuts.h"
#include "graph/paths.h"

namespace chorale {

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

namespace {

constexpr int kMostColours = 64;
constexpr int kMaxColourIterations = 60;
constexpr int kMaxMasterIterations = 20'000;  // of the simplex method

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
    for (int turn = 0; turn < kMaxColourIterations; ++turn) {
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
    const LpSolution solution = solve(program, kMaxMasterIterations);
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

namespace {

constexpr std::int64_t kLargestProgram = 60'000;  // columns, for any number of steps: Alltoall on dgx-a100:8
constexpr std::int64_t kLargestTimed = 200'000;   // columns, for some steps
constexpr std::int64_t kAllPrograms = 3'000'000;  // columns of all programs built for one answer
constexpr std::int64_t kFewPrograms =
    500'000;  // where more than these would be built, cuts do it: torus:8x8 needs 164,000
constexpr long long kAllWork = 60'000'000;  // arcs of flow networks in time: a second or two
constexpr int kMostRanksOfSets = 1024;
constexpr int kMaxChoiceIterations = 6;

class PriceSearch {
 public:
  PriceSearch(const Topology& topology, const std::vector<ChunkClass>& classes, int members, int steps,
              int known, const std::atomic<bool>* stop, double part = 1)
      : topology_(topology),
        members_(members < 0 ? topology.ranks : members),
        classes_(classes),
        steps_(steps),
        known_(known),
        stop_(stop),
        ports_(limits_are_ports(topology)),
        columns_left_(static_cast<std::int64_t>(kAllPrograms * part)),
        work_left_(static_cast<long long>(kAllWork * part)) {}

  std::optional<PriceBound> run() {
    if (classes_.empty()) return std::nullopt;
    if (one_destination_each() && !one_destination()) {
      charge(farthest_destinations());
    } else {
      // Chunks with several destinations, or all with one. Charging everything to one rank is the cut;
      // charging each to its farthest is a flow that no cut expresses, and is worth its program where steps
      // are few or the destinations differ. Of several sources: as many commodities, most likely.
      const bool several = classes_.front().pre != classes_.back().pre;
      const bool bearable = !several || columns(2) <= (steps_ > 0 ? kLargestTimed : kLargestProgram);
      if (bearable && (steps_ > 0 || !everyone_wants_the_same())) charge(farthest_destinations());
      charge_single_ranks();
      if (worth_sets()) charge_sets();
    }
    // Whatever was too large, the volume is left: all hops that chunks have to make over all that links can
    // carry.
    if (!best_ && steps_ == 0) take(even_prices(), Choice(classes_.size(), kNotCharged));
    if (!one_destination_each()) improve();
    if (!best_) return std::nullopt;
    return best_->bound;
  }

 private:
  bool stopped() const { return stop_ != nullptr && *stop_; }

  bool one_destination_each() const {
    return std::all_of(classes_.begin(), classes_.end(),
                       [](const ChunkClass& c) { return c.post.size() == 1; });
  }

  bool one_destination() const {
    return one_destination_each() &&
           std::all_of(classes_.begin(), classes_.end(),
                       [this](const ChunkClass& c) { return c.post == classes_.front().post; });
  }

  // But for what it has itself: Allgather, Broadcast.
  bool everyone_wants_the_same() const {
    return std::all_of(classes_.begin(), classes_.end(), [this](const ChunkClass& c) {
      return static_cast<int>(c.pre.size() + c.post.size()) == members_;
    });
  }

  Choice farthest_destinations() const {
    Choice choice;
    if (one_destination_each()) {
      for (const ChunkClass& c : classes_) choice.push_back(c.post.front());
      return choice;
    }
    const HopCounts hops(topology_);
    std::vector<int> far;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      const ChunkClass& c = classes_[i];
      if (i == 0 || c.pre != classes_[i - 1].pre) far = hops.from(c.pre);
      choice.push_back(
          *std::max_element(c.post.begin(), c.post.end(), [&](Rank a, Rank b) { return far[a] < far[b]; }));
    }
    return choice;
  }

  Choice all_to(Rank v) const {
    Choice choice;
    for (const ChunkClass& c : classes_)
      choice.push_back(std::binary_search(c.post.begin(), c.post.end(), v) ? v : kNotCharged);
    return choice;
  }

  void charge_single_ranks() {
    if (steps_ == 0 && ports_) {
      // The cut is at one rank, but which does not matter: what pays nothing is not charged.
      if (const std::optional<PriceBound> cut = tightest_cut(topology_, classes_, stop_))
        take(cut->prices, Choice(classes_.size(), kNotCharged), true);
      return;
    }
    for (Rank v : one_destination() ? classes_.front().post : worth_charging())
      if (Choice choice = all_to(v);
          !stopped() && std::any_of(choice.begin(), choice.end(), [](Rank d) { return d >= 0; }))
        charge(choice);
  }

  // Different chunks are for different ranks: a set of ranks may have to be entered more often than any one
  // of them shows.
  bool worth_sets() const {
    if (steps_ > 0 || stopped() || topology_.ranks > kMostRanksOfSets || one_destination_each() ||
        everyone_wants_the_same())
      return false;
    const auto who = [](const ChunkClass& each) {
      std::vector<Rank> all;
      std::ranges::set_union(each.pre, each.post, std::back_inserter(all));
      return all;
    };
    return std::ranges::any_of(
        classes_, [&, first = who(classes_.front())](const ChunkClass& each) { return who(each) != first; });
  }

  void charge_sets() {
    if (const std::optional<PriceBound> cut = widest_wanted_cut(topology_, classes_, stop_))
      take(cut->prices, Choice(classes_.size(), kNotCharged));
  }

  // All ranks; where that takes long, one of each colour.
  std::vector<Rank> worth_charging() const {
    std::vector<Rank> ranks(topology_.ranks);
    std::iota(ranks.begin(), ranks.end(), 0);
    if (!by_cuts(1) || topology_.ranks * columns(1) <= kFewPrograms) return ranks;
    std::vector<std::int64_t> tags(topology_.ranks, 0);  // what a rank has, as far as two can differ in it
    for (std::size_t i = 0; i < classes_.size(); ++i)
      for (Rank n : classes_[i].pre)
        tags[n] += classes_[i].count() * static_cast<std::int64_t>(1 + classes_[i].post.size());
    const MachineColours colours = machine_colours(topology_, tags);
    std::vector<bool> seen(colours.ranks, false);
    std::erase_if(ranks, [&](Rank n) {
      const bool again = seen[colours.rank[n]];
      seen[colours.rank[n]] = true;
      return again;
    });
    return ranks;
  }

  // The columns of a program with `commodities` commodities.
  std::int64_t columns(std::int64_t commodities) const {
    const auto links = static_cast<std::int64_t>(topology_.links.size());
    return (steps_ > 0 ? (links + topology_.ranks) * steps_ : links) * commodities;
  }

  // Those with equal sources, or those with equal destinations, if that makes fewer.
  std::int64_t commodities(const Choice& choice) const {
    std::int64_t sources = 0;
    std::set<Rank> destinations;
    const ChunkClass* before = nullptr;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      if (choice[i] == kNotCharged) continue;
      if (before == nullptr || before->pre != classes_[i].pre) ++sources;
      before = &classes_[i];
      destinations.insert(choice[i]);
    }
    return std::min(sources, static_cast<std::int64_t>(destinations.size()));
  }

  bool by_cuts(std::int64_t commodities) const {
    constexpr std::int64_t kSmall = 4'000;  // columns: faster as a program
    return steps_ > 0 && commodities == 1 && ports_ && columns(1) > kSmall;
  }

  // Searches the best prices for the choice; true if they are the best so far.
  bool charge(const Choice& choice) {
    const std::int64_t count = commodities(choice), size = columns(count);
    if (by_cuts(count) && (size > kLargestTimed || size * topology_.ranks > kFewPrograms))
      return take(timed_cut_prices(topology_, demands(classes_, choice), steps_, known_, work_left_), choice);
    if (size > (steps_ > 0 ? kLargestTimed : kLargestProgram) || size > columns_left_) {
      if (steps_ > 0 || !one_destination_each()) return false;
      const bool better = take(colour_prices(topology_, classes_), choice, true);
      const std::optional<Prices> half = tightest_half_cut(topology_, classes_, stop_);
      return (half && take({*half}, choice, true)) || better;
    }
    columns_left_ -= size;
    FlowProgram program(topology_, demands(classes_, choice), steps_);
    program.build();
    // Ranks that a symmetry carries to each other make one program up to the order of rows and columns, so an
    // Allgather on a torus builds a program for each rank and solves one.
    if (!solved_.insert(program.signature()).second) return false;
    return take(program.prices(), choice);
  }

  // `settled`: to charge the most expensive destinations under these prices would find nothing better.
  bool take(std::vector<Prices> prices, const Choice& choice, bool settled = false) {
    if (prices.empty()) return false;
    std::optional<Payment> payment = pay(topology_, classes_, std::move(prices), steps_ > 0, choice);
    if (!payment || (best_ && !stronger(payment->bound, best_->bound))) return false;
    settled_ = settled || payment->most_expensive == choice;
    best_ = std::move(payment);
    return true;
  }

  // Prices for a choice, the most expensive destinations under these prices, prices for those: an iteration
  // is kept only if it is stronger. It is a climb, and may end below the best choice.
  void improve() {
    for (int turn = 0; turn < kMaxChoiceIterations && best_ && !settled_ && !stopped(); ++turn)
      if (!charge(Choice(best_->most_expensive))) return;
  }

  // Volume: every link costs the same.
  std::vector<Prices> even_prices() const {
    Prices even = no_prices(topology_);
    std::ranges::fill(even.links, 1);
    return {even};
  }

  const Topology& topology_;
  const int members_;
  const std::vector<ChunkClass>& classes_;
  const int steps_;  // 0: any number
  const int known_;  // rounds
  const std::atomic<bool>* const stop_;
  const bool ports_;
  std::int64_t columns_left_;
  long long work_left_;
  std::set<std::uint64_t> solved_ = {};  // signatures
  std::optional<Payment> best_ = {};
  bool settled_ = false;  // the best prices' most expensive destinations are those they were made for
};

}  // namespace

std::optional<PriceBound> price_bound(const Topology& topology, const std::vector<ChunkClass>& classes,
                                      int members, const std::atomic<bool>* stop) {
  return PriceSearch(topology, classes, members, 0, 0, stop).run();
}

std::optional<PriceBound> timed_price_bound(const Topology& topology, const std::vector<ChunkClass>& classes,
                                            int steps, int known, const std::atomic<bool>* stop,
                                            double part) {
  return PriceSearch(topology, classes, -1, steps, known, stop, part).run();
}

}  // namespace chorale
