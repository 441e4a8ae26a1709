// What has to come from some ranks to others is a flow over time, without regard to what copies and sums save
// inside: its quickest end is found by paths of increasing latency (Ford and Fulkerson 1958; Burkard, Dlaska
// and Klinz 1993), and the distances in what is left of the network are the cut in time that shows it. Limits
// over links of one rank are arcs of their own there, and others are left out; the cut is then evaluated with
// all of them, so the network decides how good a bound is, never whether it holds.
//
// Sources and sinks that are tried: one rank, and all others, those at least as far as some latencies, or the
// farthest.
//
// Alternative that lost: a linear program over the time-expanded machine. It has a column for each link and
// moment, and its moments divide neither latencies nor chunks.
#include "bounds/time_bounds.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "graph/paths.h"

namespace chorale {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr double kSame = 1e-12;        // of rates and latencies
constexpr std::size_t kMostRings = 4;  // latencies at which far ranks are cut off
constexpr int kHalvings = 60;          // of the interval in which a time is looked for

std::vector<bool> marked(int ranks, const std::vector<Rank>& some) {
  std::vector<bool> is(ranks);
  for (const Rank n : some) is[n] = true;
  return is;
}

struct Window {
  double from = 0, to = 0;
};

double union_of(std::vector<Window>& windows) {
  std::ranges::sort(windows, {}, &Window::from);
  double length = 0, end = -kFar;
  for (const Window& each : windows) {
    length += std::max(0.0, each.to - std::max(each.from, end));
    end = std::max(end, each.to);
  }
  return length;
}

// Bytes that can enter the cut, and the limits that are charged: each time the one that saves most.
double carried(const Topology& t, const TimeClaim& cut, std::vector<int>& charged) {
  std::vector<Window> window(t.links.size());
  std::vector<double> by_itself(t.links.size());
  double sum = 0;
  for (LinkId l = 0; l < std::ssize(t.links); ++l) {
    const Link& link = t.links[l];
    window[l] = {std::max(0.0, cut.until[link.src]), std::min(cut.us, cut.until[link.dst]) - link.alpha_us};
    if (window[l].to <= window[l].from + kSame * (1 + cut.us)) continue;
    by_itself[l] = (window[l].to - window[l].from) * link.bandwidth / link.beta_us_per_byte;
    sum += by_itself[l];
  }
  using Entry = std::pair<double, int>;
  const auto saved_by = [&](int i) {
    std::vector<Window> of_links;
    double saved = 0, beta = kFar;
    for (const LinkId l : t.limits[i].links)
      if (by_itself[l] > 0) {
        saved += by_itself[l];
        beta = std::min(beta, t.links[l].beta_us_per_byte);
        of_links.push_back(window[l]);
      }
    return of_links.empty() ? 0 : saved - union_of(of_links) * t.limits[i].bandwidth / beta;
  };
  std::priority_queue<Entry> best;
  for (int i = 0; i < std::ssize(t.limits); ++i)
    if (const double saved = saved_by(i); saved > 0) best.push({saved, i});
  while (!best.empty()) {
    const int i = best.top().second;
    best.pop();
    const double saved = saved_by(i);
    if (saved <= 0) continue;
    if (!best.empty() && saved < best.top().first) {  // others have taken of its links since
      best.push({saved, i});
      continue;
    }
    charged.push_back(i);
    sum -= saved;
    for (const LinkId l : t.limits[i].links) by_itself[l] = 0;
  }
  return sum;
}

}  // namespace

// Arcs of rates and latencies; a rank is a node of its number.
class TimeBounds::Network {
 public:
  explicit Network(const Topology& t) : ranks_(t.ranks), nodes_(t.ranks + 2) {
    std::vector<Node> leaves(t.links.size(), -1), enters(t.links.size(), -1);
    for (const SharedLimit& limit : t.limits) {
      if (limit.links.empty() || limit.abilities.any()) continue;
      const Link& first = t.links[limit.links.front()];
      const auto all = [&](Node Link::*end) {
        return std::ranges::all_of(limit.links, [&](LinkId l) { return t.links[l].*end == first.*end; });
      };
      double beta = kFar;
      for (const LinkId l : limit.links) beta = std::min(beta, t.links[l].beta_us_per_byte);
      const bool out = all(&Link::src);
      if (!out && !all(&Link::dst)) continue;
      std::vector<Node>& at = out ? leaves : enters;
      if (std::ranges::any_of(limit.links, [&](LinkId l) { return at[l] >= 0; })) continue;
      for (const LinkId l : limit.links) at[l] = nodes_;
      out ? add(first.src, nodes_, limit.bandwidth / beta, 0)
          : add(nodes_, first.dst, limit.bandwidth / beta, 0);
      ++nodes_;
    }
    for (LinkId l = 0; l < std::ssize(t.links); ++l) {
      const Link& link = t.links[l];
      add(leaves[l] >= 0 ? leaves[l] : link.src, enters[l] >= 0 ? enters[l] : link.dst,
          link.bandwidth / link.beta_us_per_byte, link.alpha_us);
    }
    links_ = arcs_.size();
  }

  // What can flow, as the paths are added one by one. `work` is decreased by the arcs that were looked at.
  std::vector<Flow> flows(const std::vector<Rank>& from, const std::vector<Rank>& to, long long& work) {
    const Node source = ranks_, sink = ranks_ + 1;
    arcs_.resize(links_);
    for (std::size_t a = 0; a < links_; a += 2) {
      arcs_[a].left = arcs_[a].rate;
      arcs_[a + 1].left = 0;
    }
    for (const Rank n : from) add(source, n, kFar, 0);
    for (const Rank n : to) add(n, sink, kFar, 0);
    std::vector<std::vector<int>> out(nodes_);
    for (int a = 0; a < std::ssize(arcs_); ++a) out[arcs_[a].from].push_back(a);
    std::vector<double> potential(nodes_);
    std::vector<Flow> found;
    for (Flow now;;) {
      const auto paths = cheapest_paths(nodes_, std::vector<Node>{source}, 0.0, kFar,
                                        [&](Node n, double us, const auto& reach) {
                                          work -= std::ssize(out[n]);
                                          for (const int a : out[n]) {
                                            const Arc& arc = arcs_[a];
                                            if (arc.left <= arc.none) continue;
                                            const double more = arc.us + potential[n] - potential[arc.to];
                                            reach(arc.to, a, us + std::max(0.0, more));
                                          }
                                        });
      for (Node n = 0; n < nodes_; ++n)
        potential[n] = paths.cost[n] == kFar ? kFar : potential[n] + paths.cost[n];
      // Nodes that are cut off stay so: paths lead from nodes that are reached alone.
      now.next_us = potential[sink];
      if (found.empty() || now.next_us > found.back().next_us * (1 + kSame)) {
        now.distance_us.assign(potential.begin(), potential.begin() + ranks_);
        now.before_end_us = before(sink, out, work);
        found.push_back(now);
      }
      if (now.next_us == kFar || work <= 0) return found;
      double rate = kFar;
      for (Node n = sink; n != source; n = arcs_[paths.by[n]].from)
        rate = std::min(rate, arcs_[paths.by[n]].left);
      for (Node n = sink; n != source; n = arcs_[paths.by[n]].from) {
        arcs_[paths.by[n]].left -= rate;
        arcs_[paths.by[n] ^ 1].left += rate;
      }
      now.bytes_per_us += rate;
      now.bytes_late += rate * now.next_us;
    }
  }

 private:
  struct Arc {
    Node from = 0, to = 0;
    double rate = 0, us = 0, left = 0, none = 0;  // `none`: what rounding may leave
  };
  // By rank: the least latency to there from the sink, back along what flows; at most 0. There are no cycles
  // of negative latency, since paths were the shortest (Bellman 1958).
  std::vector<double> before(Node sink, const std::vector<std::vector<int>>& out, long long& work) const {
    std::vector<double> us(nodes_, kFar);
    std::vector<bool> waits(nodes_);
    std::queue<Node> open;
    open.push(sink);
    us[sink] = 0;
    while (!open.empty() && work > 0) {
      const Node n = open.front();
      open.pop();
      waits[n] = false;
      work -= std::ssize(out[n]);
      for (const int a : out[n]) {
        const Arc& arc = arcs_[a];
        if (arc.left <= arc.none || us[n] + arc.us >= us[arc.to] - kSame) continue;
        us[arc.to] = us[n] + arc.us;
        if (!waits[arc.to]) open.push(arc.to);
        waits[arc.to] = true;
      }
    }
    us.resize(ranks_);
    for (double& each : us) each = std::min(each, 0.0);
    return us;
  }
  void add(Node from, Node to, double rate, double us) {
    const double none = rate == kFar ? 0 : kSame * rate;
    arcs_.push_back({from, to, rate, us, rate, none});
    arcs_.push_back({to, from, rate, -us, 0, none});
  }

  const int ranks_;
  Node nodes_;
  std::size_t links_ = 0;
  std::vector<Arc> arcs_ = {};
};

TimeBounds::TimeBounds(const Topology& t, const Collective& one, long long work)
    : topology_(t), kind_(one.kind) {
  std::map<std::pair<RankSet, RankSet>, int> classes;  // by pre and post
  for (const ChunkSpec& chunk : one.chunks) ++classes[{chunk.pre, chunk.post}];
  const auto blocks = [&](const std::vector<Rank>& from, const std::vector<Rank>& to) {
    const std::vector<bool> is_from = marked(t.ranks, from), is_to = marked(t.ranks, to);
    int count = 0;
    for (const auto& [ends, chunks] : classes) {
      work -= std::ssize(ends.first) + std::ssize(ends.second);
      const auto leaves = [&](Rank n) { return is_from[n]; };
      if ((one.combining ? std::ranges::any_of(ends.first, leaves)
                         : std::ranges::all_of(ends.first, leaves)) &&
          std::ranges::any_of(ends.second, [&](Rank n) { return is_to[n]; }))
        count += chunks;
    }
    return count;
  };
  Network network(t);
  std::set<std::pair<std::vector<Rank>, std::vector<Rank>>> asked;
  const auto add = [&](const std::vector<Rank>& from, const std::vector<Rank>& to) {
    if (work <= 0 || from.empty() || to.empty() || !asked.insert({from, to}).second) return;
    const int needed = blocks(from, to);
    if (needed == 0) return;
    Demand demand{.blocks = double{1} * needed, .to = to, .flows = network.flows(from, to, work)};
    if (demand.flows.back().next_us == kFar && demand.flows.back().bytes_per_us > 0)
      demands_.push_back(std::move(demand));
  };
  std::vector<std::vector<LinkId>> out(t.ranks), in(t.ranks);
  for (LinkId l = 0; l < std::ssize(t.links); ++l) {
    out[t.links[l].src].push_back(l);
    in[t.links[l].dst].push_back(l);
  }
  const auto latencies = [&](Rank of, const std::vector<std::vector<LinkId>>& links, Node Link::*end) {
    return cheapest_paths(t.ranks, std::vector<Rank>{of}, 0.0, kFar,
                          [&](Node n, double us, const auto& reach) {
                            work -= std::ssize(links[n]);
                            for (const LinkId l : links[n])
                              reach(t.links[l].*end, l, us + t.links[l].alpha_us);
                          })
        .cost;
  };
  // All that are at least as far as each of some latencies, the farthest first.
  const auto rings = [](const std::vector<double>& us) {
    std::vector<double> far(us);
    std::ranges::sort(far, std::greater());
    far.erase(std::unique(far.begin(), far.end()), far.end());
    std::vector<double> kept;
    for (std::size_t k = 0; k < kMostRings && k < far.size(); ++k)
      kept.push_back(far[k * far.size() / std::min(kMostRings, far.size())]);
    std::vector<std::vector<Rank>> sets;
    for (const double least : kept) {
      sets.emplace_back();
      for (Rank n = 0; n < std::ssize(us); ++n)
        if (us[n] >= least) sets.back().push_back(n);
    }
    return sets;
  };
  for (Rank n = 0; n < t.ranks && work > 0; ++n) {
    std::vector<Rank> others;
    for (Rank other = 0; other < t.ranks; ++other)
      if (other != n) others.push_back(other);
    for (const bool enters : {true, false}) {
      const std::vector<double> us = enters ? latencies(n, in, &Link::src) : latencies(n, out, &Link::dst);
      std::vector<std::vector<Rank>> sets = rings(us);
      sets.push_back(others);
      const auto farthest = std::ranges::max_element(others, {}, [&](Rank other) { return us[other]; });
      if (farthest != others.end()) sets.push_back({*farthest});
      for (std::vector<Rank>& set : sets) {
        std::erase(set, n);
        enters ? add(set, {n}) : add({n}, set);
      }
    }
  }
}

const TimeBounds::Flow& TimeBounds::Demand::flow_for(double bytes) const {
  for (const Flow& flow : flows)
    if (flow.bytes_per_us > 0 && (bytes + flow.bytes_late) / flow.bytes_per_us <= flow.next_us) return flow;
  return flows.back();
}

// The flow's own end is that of the cut, unless limits are over links of several ranks, or links and limits
// of one path end at different times.
TimeClaim TimeBounds::cut_of(const Demand& demand, double block_bytes) const {
  const double bytes = demand.blocks * block_bytes;
  const Flow& flow = demand.flow_for(bytes);
  TimeClaim cut{.block_bytes = block_bytes};
  const auto holds_at = [&](double us) {
    cut.us = us;
    cut.until.clear();
    cut.limits.clear();
    for (Rank n = 0; n < topology_.ranks; ++n)
      cut.until.push_back(std::min(flow.distance_us[n], us + flow.before_end_us[n]));
    for (const Rank n : demand.to) cut.until[n] = us;
    return carried(topology_, cut, cut.limits) <= bytes * (1 + kSame) + kSame;
  };
  double high = (bytes + flow.bytes_late) / flow.bytes_per_us;
  if (holds_at(high)) return cut;
  double low = 0;
  for (int k = 0; k < kHalvings; ++k) {
    const double middle = (low + high) / 2;
    (holds_at(middle) ? low : high) = middle;
  }
  return holds_at(low) ? cut : TimeClaim{.block_bytes = block_bytes};
}

// As bounds/check_time.cpp has it.
TimeClaim TimeBounds::rate_of(int number, const Claim& claim, double block_bytes) const {
  TimeClaim none{.block_bytes = block_bytes};
  if (claim.collective != kind_ || !claim.any_chunks || claim.steps != kAnySteps || claim.rounds <= 0 ||
      claim.rounds == kNoSchedule || claim.certificate.prices.size() != 1)
    return none;
  double beta = kFar, latency = kFar;
  for (const Link& link : topology_.links) {
    beta = std::min(beta, link.beta_us_per_byte);
    latency = std::min(latency, link.alpha_us);
  }
  const Prices& prices = claim.certificate.prices.front();
  std::vector<std::pair<double, double>> paid;  // latency, and price of a round, of what has one
  if (topology_.underlay) {
    paid.emplace_back(latency, 1);
  } else {
    for (LinkId l = 0; l < std::ssize(topology_.links); ++l)
      if (prices.links[l] > 0)
        paid.emplace_back(topology_.links[l].alpha_us,
                          double{1} * prices.links[l] * topology_.links[l].bandwidth);
    for (std::size_t i = 0; i < topology_.limits.size(); ++i) {
      const SharedLimit& limit = topology_.limits[i];
      if (prices.limits[i] == 0) continue;
      double least = limit.links.empty() ? 0 : kFar;
      for (const LinkId l : limit.links) least = std::min(least, topology_.links[l].alpha_us);
      paid.emplace_back(least, double{1} * prices.limits[i] * limit.bandwidth);
    }
  }
  if (paid.empty()) return none;
  // Those of the least latencies are paid from then on, until all have what is owed.
  std::ranges::sort(paid);
  double all = 0, price = 0, late = 0, us = 0;
  for (const auto& [alpha, of_round] : paid) all += of_round;
  const double owed = all * beta * block_bytes * static_cast<double>(claim.rounds) / claim.chunks;
  for (std::size_t k = 0; k < paid.size(); ++k) {
    price += paid[k].second;
    late += paid[k].second * paid[k].first;
    us = (owed + late) / price;
    if (k + 1 < paid.size() && us <= paid[k + 1].first) break;
  }
  return {.block_bytes = block_bytes, .us = us, .claim = number};
}

TimeClaim TimeBounds::strongest(double block_bytes, const std::vector<Claim>& claims) const {
  TimeClaim best{.block_bytes = block_bytes};
  const auto take = [&](TimeClaim claim) {
    if (claim.us > best.us) best = std::move(claim);
  };
  for (std::size_t c = 0; c < claims.size(); ++c) take(rate_of(static_cast<int>(c), claims[c], block_bytes));
  const auto end = [&](const Demand& demand) {
    const double bytes = demand.blocks * block_bytes;
    const Flow& flow = demand.flow_for(bytes);
    return (bytes + flow.bytes_late) / flow.bytes_per_us;
  };
  // The flow's end is at least that of its cut: the others cannot be better once one is as good.
  std::vector<const Demand*> order;
  for (const Demand& demand : demands_) order.push_back(&demand);
  std::ranges::stable_sort(order, std::greater(), [&](const Demand* demand) { return end(*demand); });
  constexpr int kMostCuts = 64;
  for (int k = 0; k < kMostCuts && k < std::ssize(order) && end(*order[k]) > best.us; ++k)
    take(cut_of(*order[k], block_bytes));
  return best;
}

}  // namespace chorale
