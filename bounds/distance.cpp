// One breadth-first search for each set of sources, which chunks of a block share.
//
// A value is at rank n after t steps only if it started at most t hops away, and of the machine nothing else
// matters: bandwidth, limits and rounds could be any. So this is also exact for copies, since with enough
// rounds every chunk takes its shortest path. Cost: the links, for each set of sources; for a sum, each
// contributor is a set of its own. Through switches below chosen paths an entire path is one hop, chosen or
// not.
#include "bounds/distance.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "ir/error.h"

namespace chorale {
namespace {

// Hops from sets of ranks. Equal sets are asked for one after the other, or again and again.
class HopTable {
 public:
  explicit HopTable(const Topology& topology)
      : topology_(topology),
        nodes_(topology.ranks + (topology.underlay ? topology.underlay->switches : 0)),
        first_(nodes_ + 1, 0) {
    const std::vector<Link>& links = topology.underlay ? topology.underlay->links : topology.links;
    for (const Link& link : links) ++first_[link.src + 1];
    for (Node n = 0; n < nodes_; ++n) first_[n + 1] += first_[n];
    to_.resize(links.size());
    std::vector<int> at(first_.begin(), first_.end() - 1);
    for (const Link& link : links) to_[at[link.src]++] = link.dst;
  }

  // [node] -> hops, -1 if there is no path.
  const std::vector<int>& from(const RankSet& sources) {
    const auto [at, fresh] = known_.try_emplace(sources);
    if (fresh) at->second = search(sources);
    return at->second;
  }

  void require_path(const RankSet& from, Rank to, int hops) const {
    if (hops < 0 && !from.empty())
      throw InputError("topology " + topology_.name,
                       fmt::format("no path from rank {} to rank {}", from.front(), to),
                       "add links, or a collective without this transfer");
  }

 private:
  // Level by level; a switch is on the level of the ranks that are reached through it.
  std::vector<int> search(const RankSet& sources) const {
    std::vector<int> hops(nodes_, -1);
    std::vector<Node> level(sources.begin(), sources.end());
    for (Rank n : sources) hops[n] = 0;
    for (int next = 1; !level.empty(); ++next) {
      std::vector<Node> reached, passing;  // of the next level: ranks, switches
      const auto go_on = [&](Node n) {
        for (int a = first_[n]; a < first_[n + 1]; ++a)
          if (hops[to_[a]] < 0) {
            hops[to_[a]] = next;
            (to_[a] < topology_.ranks ? reached : passing).push_back(to_[a]);
          }
      };
      for (Rank n : level) go_on(n);
      for (std::size_t i = 0; i < passing.size(); ++i) go_on(passing[i]);
      level = std::move(reached);
    }
    return hops;
  }

  const Topology& topology_;
  const int nodes_;
  std::vector<int> first_;  // of a node's links in to_
  std::vector<Node> to_ = {};
  std::map<RankSet, std::vector<int>> known_ = {};
};

}  // namespace

Farthest farthest(const Topology& topology, const Collective& collective) {
  HopTable table(topology);
  Farthest most;
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c) {
    const ChunkSpec& spec = collective.chunks[c];
    if (c > 0 && spec.pre == collective.chunks[c - 1].pre && spec.post == collective.chunks[c - 1].post)
      continue;
    // The destination is named, or of a sum the contributor.
    const auto consider = [&](const RankSet& from, bool name_source) {
      const std::vector<int>& hops = table.from(from);
      for (Rank d : spec.post) {
        table.require_path(from, d, hops[d]);
        if (hops[d] > most.steps)
          most = {.steps = hops[d], .chunk = c, .rank = name_source ? from.front() : d};
      }
    };
    if (!collective.combining) consider(spec.pre, false);
    if (collective.combining)
      for (Rank p : spec.pre) consider({p}, true);
  }
  return most;
}

}  // namespace chorale
