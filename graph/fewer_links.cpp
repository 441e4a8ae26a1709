// Links are divided by rate and by latency apart: which of both decides depends on the size of a message.
#include "graph/fewer_links.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "graph/embedding.h"

namespace chorale {
namespace {

constexpr std::size_t kMaxMachines = 3;

FewerLinks with_links(const Topology& whole, const std::vector<LinkId>& links) {
  Topology fewer{.name = whole.name, .ranks = whole.ranks, .call_us = whole.call_us};
  std::vector<LinkId> number(whole.links.size(), -1);
  int unit = 0;
  for (const LinkId l : links) {
    number[l] = static_cast<LinkId>(fewer.links.size());
    fewer.links.push_back(whole.links[l]);
    unit = std::gcd(unit, whole.links[l].bandwidth);
  }
  for (const SharedLimit& limit : whole.limits) {
    SharedLimit kept{.name = limit.name, .bandwidth = limit.bandwidth, .abilities = limit.abilities};
    for (const LinkId l : limit.links)
      if (number[l] >= 0) kept.links.push_back(number[l]);
    if (kept.links.empty()) continue;
    unit = std::gcd(unit, kept.bandwidth);
    fewer.limits.push_back(std::move(kept));
  }
  for (Link& link : fewer.links) {
    link.bandwidth /= unit;
    link.beta_us_per_byte /= unit;
  }
  for (SharedLimit& limit : fewer.limits) limit.bandwidth /= unit;
  return {.machine = Machine(std::move(fewer)), .links = links, .unit = unit};
}

// Does each rank reach as many as on the whole machine?
bool reaches_as_much(const Topology& fewer, const Topology& whole, bool all_reach) {
  if (all_reach) return all_reach_all(fewer);
  const HopCounts there(fewer), here(whole);
  for (Rank n = 0; n < whole.ranks; ++n)
    if (std::ranges::count(there.from({n}), -1) != std::ranges::count(here.from({n}), -1)) return false;
  return true;
}

// Microseconds per byte.
double slowness(const Link& link) {
  return link.beta_us_per_byte / link.bandwidth;
}

}  // namespace

// A factor apart is what divides links best: of several cuts between rates those of the largest one stay.
std::vector<FewerLinks> machines_of_fewer_links(const Topology& whole) {
  struct Cut {
    double factor = 0;  // from the slowest link that is kept to the fastest that is not
    std::vector<LinkId> links = {};
  };
  std::vector<Cut> cuts;
  const bool all_reach = all_reach_all(whole);
  for (const auto& price :
       {std::function(slowness), std::function([](const Link& l) { return l.alpha_us; })}) {
    std::set<double> prices;
    for (const Link& link : whole.links) prices.insert(price(link));
    for (auto at = prices.begin(); at != prices.end() && std::next(at) != prices.end(); ++at) {
      Cut cut{.factor = *std::next(at) / std::max(*at, 1e-9)};
      Topology fewer{.ranks = whole.ranks};
      for (LinkId l = 0; l < std::ssize(whole.links); ++l)
        if (price(whole.links[l]) <= *at) {
          cut.links.push_back(l);
          fewer.links.push_back(whole.links[l]);
        }
      const bool known = std::ranges::any_of(cuts, [&](const Cut& c) { return c.links == cut.links; });
      if (!known && reaches_as_much(fewer, whole, all_reach)) cuts.push_back(std::move(cut));
    }
  }
  if (cuts.empty()) return {};
  std::ranges::stable_sort(cuts, {}, [](const Cut& cut) { return cut.links.size(); });
  std::stable_sort(cuts.begin() + 1, cuts.end(),
                   [](const Cut& a, const Cut& b) { return a.factor > b.factor; });
  std::vector<FewerLinks> machines;
  for (std::size_t i = 0; i < std::min(cuts.size(), kMaxMachines); ++i)
    machines.push_back(with_links(whole, cuts[i].links));
  return machines;
}

Point on_whole(const Point& point, const FewerLinks& fewer, const Topology& whole, const Collective& one,
               bool finer) {
  const int times = finer ? fewer.unit : 1;
  Point result = point;
  result.collective = of_kind(one, point.collective.kind, point.collective.chunks_per_block * times);
  result.collective.order = point.collective.order;  // a baseline adds in its own
  Embedding there = identity(fewer.machine, result.collective);
  there.links = fewer.links;
  result.schedule = embedded(cut_finer(point.schedule, times), there, whole);
  result.cost = cost_of(result.schedule, point.cost.chunks * times);
  const bool is_named = point.construction.empty() || point.construction == name_of(point.method);
  result.construction = is_named ? "over fast links" : point.construction + " over fast links";
  return result;
}

}  // namespace chorale
