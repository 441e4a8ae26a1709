// Newton's method: each partition gives a ratio K / (groups - 1), the next one minimises K - ratio * groups,
// and is strictly weaker, or there is none. That minimum is the lower Dilworth truncation of a submodular
// function: ranks come one after the other, each gets the largest y that no set so far forbids (one minimum
// cut), and tight sets that meet are joined.
//
// Why greedy is right: scale * out(S) - x is submodular on sets that meet, and for such functions the greedy
// vector y is as large as any, with the tight sets closed under union where they meet; the groups that they
// leave are a partition whose sum is that of y, which no partition is below. All is in integers: a guess x is
// a fraction, and both sides are multiplied by its denominator. Cost: a minimum cut a rank for each guess,
// and a network each, since the sink takes in all ranks that have not come yet.
#include "bounds/strength.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>

#include "graph/max_flow.h"

namespace chorale {
namespace {

using Group = std::vector<int>;

// A limit that is split off its rank as a node: what leaves through these links passes it first.
struct OutPort {
  Rank rank = 0;
  std::int64_t bandwidth = 0;
};

class WeakestPartition {
 public:
  explicit WeakestPartition(const Topology& topology)
      : topology_(topology), port_of_(topology.links.size(), -1) {
    for (const SharedLimit& limit : topology.limits) {
      const bool one_rank = std::all_of(limit.links.begin(), limit.links.end(), [&](LinkId l) {
        return port_of_[l] < 0 && topology.links[l].src == topology.links[limit.links.front()].src;
      });
      if (!one_rank || limit.links.empty()) continue;
      for (LinkId l : limit.links) port_of_[l] = static_cast<int>(ports_.size());
      ports_.push_back({.rank = topology.links[limit.links.front()].src, .bandwidth = limit.bandwidth});
    }
  }

  std::vector<Group> run() {
    Group group(topology_.ranks);
    std::iota(group.begin(), group.end(), 0);
    // All are returned, since collectives other than AllReduce count crossings differently and may do better
    // with one of the others.
    std::vector<Group> met = {group};
    // Each partition is strictly weaker than the one before.
    for (;;) {
      const std::int64_t groups = static_cast<std::int64_t>(std::set<int>(group.begin(), group.end()).size());
      if (groups < 2) return met;
      const std::int64_t k = leaving(group);
      group = least_sum(k, groups - 1);
      const std::int64_t better = static_cast<std::int64_t>(std::set<int>(group.begin(), group.end()).size());
      if (better < 2 || leaving(group) * (groups - 1) >= k * (better - 1)) return met;
      met.push_back(group);
    }
  }

 private:
  // K of the partition.
  std::int64_t leaving(const Group& group) const {
    std::vector<std::int64_t> through(ports_.size(), 0);
    std::int64_t sum = 0;
    for (std::size_t l = 0; l < port_of_.size(); ++l) {
      const Link& link = topology_.links[l];
      if (group[link.src] == group[link.dst]) continue;
      (port_of_[l] < 0 ? sum : through[port_of_[l]]) += link.bandwidth;
    }
    for (std::size_t p = 0; p < through.size(); ++p) sum += std::min(through[p], ports_[p].bandwidth);
    return sum;
  }

  // The partition with the least sum of scale * out(S) - x over its groups. Rank after rank gets the largest
  // y such that no set S of the ranks so far has y(S) > scale * out(S) - x; sets that are tight become one
  // group with what they meet.
  Group least_sum(std::int64_t x, std::int64_t scale) const {
    Group group(topology_.ranks);
    std::iota(group.begin(), group.end(), 0);
    std::vector<std::int64_t> y;
    for (Rank v = 0; v < topology_.ranks; ++v) {
      const int sink = topology_.ranks + static_cast<int>(ports_.size());
      MaxFlow flow(sink + 1);
      const auto node = [&](Rank n) { return n <= v ? n : sink; };
      for (std::size_t p = 0; p < ports_.size(); ++p)
        if (ports_[p].rank <= v)
          flow.add_arc(ports_[p].rank, topology_.ranks + static_cast<int>(p), ports_[p].bandwidth * scale);
      for (std::size_t l = 0; l < port_of_.size(); ++l) {
        const Link& link = topology_.links[l];
        if (link.src <= v)
          flow.add_arc(port_of_[l] < 0 ? link.src : topology_.ranks + port_of_[l], node(link.dst),
                       link.bandwidth * scale);
      }
      std::int64_t gains = 0;
      for (Rank u = 0; u < v; ++u) {
        // The cut is to be least in scale * out(S) - y(S): a rank with a gain pays it when left outside, a
        // rank with a loss pays it inside. The flow less all gains is that.
        if (y[u] > 0) flow.add_arc(v, u, y[u]);
        if (y[u] < 0) flow.add_arc(u, sink, -y[u]);
        gains += std::max<std::int64_t>(0, y[u]);
      }
      y.push_back(flow.run(v, sink) - gains - x);
      flow.find_cut();
      // S is tight now. Sets that were tight before and meet it are tight with it.
      std::set<int> joined;
      for (Rank u = 0; u <= v; ++u)
        if (flow.on_source_side(u)) joined.insert(group[u]);
      for (int& g : group)
        if (joined.contains(g)) g = *joined.begin();
    }
    return group;
  }

  const Topology& topology_;
  std::vector<int> port_of_ = {};  // by link, -1 for none
  std::vector<OutPort> ports_ = {};
};

}  // namespace

std::vector<Group> weak_partitions(const Topology& topology) {
  return WeakestPartition(topology).run();
}

}  // namespace chorale
