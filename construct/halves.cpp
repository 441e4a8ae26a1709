#include "construct/halves.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "bounds/lower_bounds.h"
#include "construct/copies_on_trees.h"
#include "construct/mixed_trees.h"
#include "construct/spreading.h"
#include "construct/tree_growth.h"
#include "ir/embedding.h"

namespace chorale {
namespace {

// All that gathers: what grows, and where that leaves something to be found, few steps and pipelines.
std::vector<Schedule> gathers(const Topology& topology, const Collective& gather, long long most_looks,
                              const std::atomic<bool>* stop) {
  LowerBounds bounds(topology, gather, stop);
  const auto bound = [&] { return bounds.fewest_rounds().rounds; };
  std::vector<Schedule> schedules = grow_trees(topology, gather, stop, most_looks);
  for (const auto construct : {mixed_trees, copies_on_trees})
    for (Schedule& more : construct(topology, gather, schedules, bound, stop))
      keep_undominated(schedules, std::move(more));
  return schedules;
}

Schedule over(const std::vector<LinkId>& links, Schedule schedule) {
  for (Step& step : schedule.steps) {
    for (Send& send : step.sends) send.link = links[send.link];
    std::ranges::sort(step.sends);
  }
  return schedule;
}

}  // namespace

std::optional<std::vector<LinkId>> links_turned_round(const Topology& topology) {
  using Kind = std::tuple<Node, Node, int>;
  std::map<Kind, std::vector<LinkId>> alike;
  for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
    const Link& link = topology.links[l];
    alike[{link.src, link.dst, link.bandwidth}].push_back(l);
  }
  std::vector<LinkId> other(topology.links.size(), -1);
  for (const auto& [kind, links] : alike) {
    const auto& [src, dst, bandwidth] = kind;
    const auto back = alike.find({dst, src, bandwidth});
    if (back == alike.end() || back->second.size() != links.size()) return std::nullopt;
    for (std::size_t i = 0; i < links.size(); ++i) other[links[i]] = back->second[i];
  }
  using Limit = std::pair<int, std::vector<LinkId>>;
  std::vector<Limit> limits, turned;
  for (const SharedLimit& limit : topology.limits) {
    if (limit.abilities.any()) return std::nullopt;
    limits.push_back({limit.bandwidth, limit.links});
    std::vector<LinkId> links;
    for (LinkId l : limit.links) links.push_back(other[l]);
    std::ranges::sort(links);
    turned.push_back({limit.bandwidth, std::move(links)});
  }
  std::ranges::sort(limits);
  std::ranges::sort(turned);
  if (limits != turned) return std::nullopt;
  return other;
}

std::vector<Schedule> halves(const Topology& topology, const Collective& collective,
                             const std::atomic<bool>* stop) {
  const int chunks = collective.chunks_per_block;
  if (collective.kind != CollectiveKind::AllReduce || chunks % collective.ranks != 0) return {};
  // Many chunks take a pipeline better than they take two halves; of many ranks a single try of a step is a part of this.
  const long long most_looks = std::max(50'000'000LL, 200LL * chunks * collective.ranks);
  const Collective gather = of_kind(collective, CollectiveKind::Allgather, chunks / collective.ranks);
  const std::vector<Schedule> afterwards = gathers(topology, gather, most_looks, stop);
  if (afterwards.empty()) return {};
  std::vector<Schedule> first;
  if (const auto other = links_turned_round(topology))
    for (const Schedule& schedule : afterwards) first.push_back(over(*other, schedule));
  else
    first = gathers(reversed(topology), gather, most_looks, stop);
  std::vector<Schedule> both;
  for (const Schedule& scatter : first)
    for (const Schedule& after : afterwards) keep_undominated(both, sequence(reversed(scatter, true), after));
  return both;
}

}  // namespace chorale
