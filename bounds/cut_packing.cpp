// Cutting planes: the program has the cuts found so far, its answer is a machine in time, and a maximum flow
// from a source to a destination that carries less than a chunk adds its minimum cut. Capacities have a
// little on top ("creep flows", Koch and Martin 1998), so that of equal cuts the one of the fewest sends is
// found. Links without shared limits need no x: their bandwidth is not shared, so x = r_s * bandwidth.
//
// Why the duals are a certificate: the dual of a cut is its price, that of a capacity the price of its link
// or limit in that step. The column of x states that the cuts that a send enters cost no more than its links
// and limits; that of r_s that a round is paid at most 1; the objective is what a chunk pays. Rounded to
// integers, what a send then lacks is put on its link. Every intermediate answer is a bound, so limits cost
// strength only.
#include "bounds/cut_packing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "bounds/clp.h"
#include "bounds/demand.h"
#include "bounds/partition_climb.h"
#include "graph/max_flow.h"
#include "ir/work.h"

namespace chorale {
namespace {

constexpr std::int64_t kUnitsPerChunk = 1 << 24;  // of flow: a chunk
constexpr std::int64_t kCreep = 16;
constexpr double kWhole = 0.999;   // of a chunk that flows: no cut to speak of
constexpr double kMostFlow = 1e4;  // chunks over a link: more than any rounds that are asked about
constexpr double kNearRatio = 0.99;
constexpr std::size_t kTries = 2;  // pairs of each source in an iteration, while all of them flow
constexpr int kIdle = 5;
constexpr int kCutTurns = 150;
constexpr int kCutIterations = 50'000;  // of the simplex method

class CutPacking {
 public:
  CutPacking(const Topology& topology, const ChunkClass& chunks, bool sum, const std::vector<int>& group,
             int steps, long long work, const std::atomic<bool>* stop)
      : topology_(topology),
        chunks_(chunks),
        sum_(sum),
        group_(group),
        steps_(steps),
        work_(work),
        stop_(stop),
        links_(static_cast<int>(topology.links.size())),
        flow_((steps + 1) * topology.ranks + 1),
        limits_of_(topology.links.size()) {
    for (std::size_t z = 0; z < topology.limits.size(); ++z)
      for (LinkId l : topology.limits[z].links) limits_of_[l].push_back(static_cast<int>(z));
    add_columns();
    add_capacities();
    add_crossings();
    lay_network();
    choose_pairs();
  }

  std::optional<Certificate> run() {
    const std::vector<double> even = this->even();
    inner_ = even;
    outer_.assign(inner_.size(), 0);
    for (int turn = 0; turn < kCutTurns && affords(); ++turn) {
      std::vector<double> between(inner_.size());
      for (std::size_t i = 0; i < between.size(); ++i) between[i] = (inner_[i] + outer_[i]) / 2;
      // Some pairs alone may have shown that all flows: then all are tested, and it begins again.
      const bool near = rounds(outer_) >= kNearRatio * rounds(inner_);
      if (near && !add_cuts(outer_, rows_.front().size())) break;
      if (near) {
        inner_ = even;
      } else if (!add_cuts(between, kTries)) {
        inner_ = std::move(between);
        continue;
      }
      const LinearProgram program = this->program();
      const LpSolution next = solve(program, kCutIterations);
      work_ -= next.iterations * std::ssize(program.entries);
      work_done() += next.iterations * std::ssize(program.entries);
      if (!next.optimal) break;
      outer_ = next.values;
      drop_idle(next.duals);
    }
    if (rounds(outer_) <= 0) return std::nullopt;
    return certificate();
  }

 private:
  struct Pair {
    RankSet from = {};
    Rank to = 0;
  };
  // of a column: what of it may be sent over a link in a step
  struct Capacity {
    int column = 0;
    double part = 1;
  };

  struct Found {
    TimedCut cut = {};
    std::vector<std::pair<int, double>> terms = {};  // column, factor
    double dual = 0;
    int idle = 0;  // iterations in which it cost nothing
  };

  bool affords() const { return work_ > 0 && !(stop_ != nullptr && *stop_); }
  bool is_limited(LinkId l) const { return !limits_of_[l].empty(); }
  Capacity capacity(LinkId l, int s) const {
    if (!is_limited(l)) return {.column = s, .part = static_cast<double>(topology_.links[l].bandwidth)};
    return {.column = column_[l] + s};
  }
  int at(Rank n, int time) const { return time * topology_.ranks + n; }
  int source() const { return (steps_ + 1) * topology_.ranks; }
  bool crosses(LinkId l) const {
    return !group_.empty() && group_[topology_.links[l].src] != group_[topology_.links[l].dst];
  }

  // Rounds of steps, then x of the links that share limits.
  void add_columns() {
    for (int s = 0; s < steps_; ++s) base_.add_column(1);
    column_.assign(links_, -1);
    for (LinkId l = 0; l < links_; ++l) {
      if (!is_limited(l)) continue;
      column_[l] = static_cast<int>(base_.cost.size());
      for (int s = 0; s < steps_; ++s) base_.add_column(0);
    }
  }

  // By step of each limit, and of links that are narrower than all that they share.
  void add_capacities() {
    const auto row = [&](int s, std::int64_t bandwidth, const std::vector<LinkId>& links) {
      const int r = base_.add_row(0, kNoLimit);
      base_.entries.push_back({.row = r, .column = s, .value = static_cast<double>(bandwidth)});
      for (const LinkId l : links)
        base_.entries.push_back({.row = r, .column = capacity(l, s).column, .value = -1});
    };
    for (const SharedLimit& limit : topology_.limits)
      for (int s = 0; s < steps_; ++s) row(s, limit.bandwidth, limit.links);
    for (LinkId l = 0; l < links_; ++l)
      if (is_limited(l) && std::ranges::none_of(limits_of_[l], [&](int z) {
            return topology_.limits[z].bandwidth <= topology_.links[l].bandwidth;
          }))
        for (int s = 0; s < steps_; ++s) row(s, topology_.links[l].bandwidth, {l});
  }

  void add_crossings() {
    if (group_.empty()) return;
    Collective one{.ranks = topology_.ranks, .combining = sum_};
    one.chunks.push_back({.pre = chunks_.pre, .post = chunks_.post});
    add_row(base_, static_cast<double>(Crossings(one).of(group_)),
            terms([&](LinkId l, int) { return crosses(l); }));
  }

  using Terms = std::vector<std::pair<int, double>>;  // column, factor

  // Sum of what is sent over these links in these steps.
  template <typename Sent>
  Terms terms(const Sent& sent) const {
    Terms terms;
    std::vector<double> of_rounds(steps_, 0);
    for (int s = 0; s < steps_; ++s)
      for (LinkId l = 0; l < links_; ++l) {
        if (!sent(l, s)) continue;
        const Capacity c = capacity(l, s);
        if (c.column < steps_)
          of_rounds[c.column] += c.part;
        else
          terms.emplace_back(c.column, 1);
      }
    for (int s = 0; s < steps_; ++s)
      if (of_rounds[s] > 0) terms.emplace_back(s, of_rounds[s]);
    return terms;
  }

  static void add_row(LinearProgram& program, double least, const Terms& terms) {
    const int row = program.add_row(least, kNoLimit);
    for (const auto& [column, factor] : terms)
      program.entries.push_back({.row = row, .column = column, .value = factor});
  }

  LinearProgram program() const {
    LinearProgram program = base_;
    for (const Found& each : cuts_) add_row(program, 1, each.terms);
    return program;
  }

  // Drops cuts that cost nothing for some iterations; the others keep their duals.
  void drop_idle(const std::vector<double>& duals) {
    duals_.assign(duals.begin(), duals.begin() + std::ssize(base_.low));
    std::vector<Found> kept;
    for (std::size_t k = 0; k < cuts_.size(); ++k) {
      Found& each = cuts_[k];
      each.dual = std::max(0.0, duals[base_.low.size() + k]);
      each.idle = each.dual > 0 ? 0 : each.idle + 1;
      if (each.idle <= kIdle) kept.push_back(std::move(each));
    }
    cuts_ = std::move(kept);
  }

  double rounds(const std::vector<double>& values) const {
    return std::accumulate(values.begin(), values.begin() + steps_, 0.0);
  }

  // Equal rounds in all steps, limits evenly shared, as many as let a chunk flow from end to end (of the
  // pairs of the first iteration).
  std::vector<double> even() {
    std::vector<double> values(base_.cost.size(), 1);
    for (LinkId l = 0; l < links_; ++l) {
      if (!is_limited(l)) continue;
      double share = static_cast<double>(topology_.links[l].bandwidth);
      for (const int z : limits_of_[l])
        share = std::min(share, static_cast<double>(topology_.limits[z].bandwidth) /
                                    static_cast<double>(topology_.limits[z].links.size()));
      std::fill_n(values.begin() + column_[l], steps_, share);
    }
    set_capacities(values);
    double least = 1;
    for (const std::vector<Pair>& row : rows_)
      if (!row.empty()) least = std::min(least, flow(row.front()));
    for (double& value : values) value /= std::max(least, 1e-6);
    // Cuts of a little less, so that the program does not begin in a corner.
    std::vector<double> less = values;
    for (const double part : {0.7, 0.4}) {
      for (std::size_t i = 0; i < less.size(); ++i) less[i] = part * values[i];
      add_cuts(less, kTries);
    }
    return values;
  }

  void lay_network() {
    for (int s = 0; s < steps_; ++s) {
      for (LinkId l = 0; l < links_; ++l)
        arcs_.push_back(flow_.add_arc(at(topology_.links[l].src, s), at(topology_.links[l].dst, s + 1), 0));
      for (Rank n = 0; n < topology_.ranks; ++n) flow_.add_arc(at(n, s), at(n, s + 1), std::int64_t{1} << 40);
    }
    for (Rank n = 0; n < topology_.ranks; ++n) starts_.push_back(flow_.add_arc(source(), at(n, 0), 0));
  }

  // The farthest first. A sum has many, of which an iteration examines one for each rank at both ends.
  void choose_pairs() {
    const HopCounts hops(topology_);
    const auto add = [&](const RankSet& from) {
      const std::vector<int> far = hops.from(from);
      std::vector<Pair> row;
      for (const Rank to : chunks_.post)
        if (!from.contains(to)) row.push_back({.from = from, .to = to});
      std::ranges::stable_sort(row, [&](const Pair& a, const Pair& b) { return far[a.to] > far[b.to]; });
      rows_.push_back(std::move(row));
    };
    if (sum_) {
      for (const Rank n : chunks_.pre) add({n});
    } else {
      add(chunks_.pre);
      const std::vector<Pair> all = std::move(rows_.front());
      rows_.clear();
      for (const Pair& pair : all) rows_.push_back({pair});
    }
  }

  // False where nothing was found in some pairs, of which the next iteration takes others.
  bool add_cuts(const std::vector<double>& values, std::size_t most) {
    set_capacities(values);
    bool found = false;
    for (std::size_t tries = 0; tries < most && !found && affords(); ++tries, ++next_)
      for (const std::vector<Pair>& row : rows_)
        if (!row.empty() && affords()) found = separate(row[next_ % row.size()]) || found;
    return found;
  }

  void set_capacities(const std::vector<double>& values) {
    for (int s = 0; s < steps_; ++s)
      for (LinkId l = 0; l < links_; ++l) {
        const Capacity c = capacity(l, s);
        const double units =
            std::min(kMostFlow, c.part * values[c.column]) * static_cast<double>(kUnitsPerChunk);
        flow_.set_capacity(arcs_[s * links_ + l], static_cast<std::int64_t>(units) + kCreep);
      }
  }

  // In chunks.
  double flow(const Pair& pair) {
    for (Rank n = 0; n < topology_.ranks; ++n)
      flow_.set_capacity(starts_[n], pair.from.contains(n) ? kUnitsPerChunk * 1'000'000 : 0);
    const long long before = flow_.work();
    const std::int64_t units = flow_.run(source(), at(pair.to, steps_));
    work_ -= flow_.work() - before + std::ssize(arcs_);
    return static_cast<double>(units) / static_cast<double>(kUnitsPerChunk);
  }

  bool separate(const Pair& pair) {
    if (flow(pair) >= kWhole) return false;
    flow_.find_cut();
    // Ranks that cannot get it to the destination any more are outside.
    const std::vector<int>& left = hops_to(pair.to);
    TimedCut cut{.price = 0, .until = std::vector<int>(topology_.ranks, -1)};
    for (Rank n = 0; n < topology_.ranks; ++n)
      for (int t = 0; t <= steps_; ++t)
        if (left[n] >= 0 && t + left[n] <= steps_ && !flow_.on_source_side(at(n, t))) cut.until[n] = t;
    if (std::ranges::any_of(cuts_, [&](const Found& other) { return other.cut == cut; })) return true;
    Terms of_cut = terms([&](LinkId l, int s) { return enters(cut, l, s); });
    cuts_.push_back({.cut = std::move(cut), .terms = std::move(of_cut)});
    return true;
  }

  const std::vector<int>& hops_to(Rank to) {
    if (left_.empty()) {
      const HopCounts hops(reversed(topology_));
      for (Rank n = 0; n < topology_.ranks; ++n) left_.push_back(hops.from({n}));
    }
    return left_[to];
  }

  // In step s from 0, from time s to s + 1.
  bool enters(const TimedCut& cut, LinkId l, int s) const {
    return cut.until[topology_.links[l].dst] > s && cut.until[topology_.links[l].src] < s;
  }

  std::optional<Certificate> certificate() const {
    // All prices side by side, so that one factor makes integers of them.
    std::vector<double> duals;
    for (const double dual : duals_) duals.push_back(std::max(0.0, dual));
    for (const Found& each : cuts_) duals.push_back(each.dual);
    const std::vector<Prices> whole = integer_prices({duals}, static_cast<int>(duals.size()));
    if (whole.empty()) return std::nullopt;
    const std::vector<int>& price = whole.front().links;
    Certificate shown{.kind = Certificate::Kind::Cuts};
    const int of_crossing = group_.empty() ? 0 : price[duals_.size() - 1];
    if (of_crossing > 0) shown.group = group_;
    for (std::size_t k = 0; k < cuts_.size(); ++k)
      if (price[duals_.size() + k] > 0)
        shown.cuts.push_back({.price = price[duals_.size() + k], .until = cuts_[k].cut.until});
    for (int s = 0; s < steps_; ++s) {
      Prices prices = no_prices(topology_);
      for (std::size_t z = 0; z < topology_.limits.size(); ++z) prices.limits[z] = price[z * steps_ + s];
      for (LinkId l = 0; l < links_; ++l) {
        long long owed = crosses(l) ? of_crossing : 0;
        for (const TimedCut& cut : shown.cuts) owed += enters(cut, l, s) ? cut.price : 0;
        for (const int z : limits_of_[l]) owed -= prices.limits[z];
        if (owed > kMostPrice) return std::nullopt;
        prices.links[l] = static_cast<int>(std::max(0LL, owed));
      }
      shown.prices.push_back(std::move(prices));
    }
    return shown;
  }

  static constexpr long long kMostPrice = 1'000'000'000;

  const Topology& topology_;
  const ChunkClass& chunks_;
  const bool sum_;
  const std::vector<int>& group_;
  const int steps_;
  long long work_;
  const std::atomic<bool>* const stop_;
  const int links_;
  MaxFlow flow_;
  std::vector<std::vector<int>> limits_of_;  // by link
  std::vector<int> column_ = {};             // by link, of the first step
  LinearProgram base_ = {};
  std::vector<int> arcs_ = {}, starts_ = {};  // of the flow: by step and link; by rank
  std::vector<std::vector<Pair>> rows_ = {};
  std::size_t next_ = 0;
  std::vector<std::vector<int>> left_ = {};  // hops [to][from]
  std::vector<Found> cuts_ = {};
  std::vector<double> inner_ = {}, outer_ = {};  // by column: what does, and the least that cuts allow
  std::vector<double> duals_ = {};               // of rows of the base
};

}  // namespace

std::optional<Certificate> pack_cuts(const Topology& topology, const ChunkClass& chunks, bool sum,
                                     const std::vector<int>& group, int steps, long long work,
                                     const std::atomic<bool>* stop) {
  return CutPacking(topology, chunks, sum, group, steps, work, stop).run();
}

}  // namespace chorale
