// On links that are as wide both ways, a chunk that goes up a tree as partial sums and down again as the whole one loads each
// of the tree's edges once each way, whatever the root: so trees that fit side by side as undirected edges do as links
// (spanning_trees.h), and the fewest rounds are those of the weakest partition. The fewest rounds are found from below:
// where trees do not fit, the partition says by how much. Trees are packed for as few chunks as have the same rate, made low
// (low_trees.h), and used again for the others: rounds that it takes to fill and to empty them are twice their height.
//
// Steps come by list scheduling: in a step of q rounds each link takes, of what can go over it, what is latest. Chunks that take
// all trees once are to be done one after the other, as fast as links allow, and who has a long way still before it must be
// earlier. (By the way alone all chunks go up before the first comes down, which is better in few wide steps only, where it is
// tried as well: mesh:4x4 67 rounds for 64 chunks, and 47 in turns.) A small q makes many steps that are full, a large one
// few; every q is tried that grows by a third. The root of a tree is its middle: random roots lost.
#include "construct/sums_on_trees.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "construct/low_trees.h"
#include "construct/spreading.h"

namespace chorale {
namespace {

// Beyond this, trees times ranks, packing takes more than a second or two.
constexpr long long kMostPlaces = 1 << 13;

// Pairs of ranks with the bandwidth between them, the same both ways.
std::optional<std::vector<Edge>> undirected(const Topology& topology) {
  if (!topology.limits.empty()) return std::nullopt;
  std::map<std::pair<Rank, Rank>, int> wide;
  for (const Link& link : topology.links) wide[{link.src, link.dst}] += link.bandwidth;
  std::vector<Edge> edges;
  for (const auto& [ends, bandwidth] : wide) {
    const auto back = wide.find({ends.second, ends.first});
    if (back == wide.end() || back->second != bandwidth) return std::nullopt;
    if (ends.first < ends.second) edges.push_back({.a = ends.first, .b = ends.second, .copies = bandwidth});
  }
  return edges;
}

// Rounds in which so many trees may cross between the groups.
int rounds_across(const std::vector<Edge>& edges, const std::vector<int>& group, long long trees) {
  long long between = 0;
  for (const Edge& edge : edges)
    if (group[edge.a] != group[edge.b]) between += edge.copies;
  const auto groups = static_cast<long long>(std::set<int>(group.begin(), group.end()).size());
  return static_cast<int>((trees * (groups - 1) + between - 1) / between);
}

// The fewest rounds in which so many trees fit, and a partition that says so.
struct Weakest {
  int rounds = 0;
  std::vector<int> group = {};
  std::vector<std::vector<int>> trees = {};
};
Weakest fewest_rounds_of(int ranks, const std::vector<Edge>& edges, int trees) {
  Weakest found{.group = std::vector<int>(ranks)};
  std::iota(found.group.begin(), found.group.end(), 0);
  found.rounds = rounds_across(edges, found.group, trees);
  for (;;) {
    std::vector<Edge> copies = edges;
    for (Edge& edge : copies) edge.copies *= found.rounds;
    TreePacking packing = pack_spanning_trees(ranks, copies, trees);
    if (!packing.trees.empty()) {
      found.trees = std::move(packing.trees);
      return found;
    }
    found.group = std::move(packing.group);
    found.rounds = std::max(found.rounds + 1, rounds_across(edges, found.group, trees));
  }
}

bool connected(const Topology& topology) {
  return std::ranges::none_of(hops(topology, {0}), [](int distance) { return distance < 0; });
}

// One chunk's tree: who is above whom, seen from the middle.
struct Rooted {
  std::vector<Rank> above = {};
  std::vector<int> depth = {};
  std::vector<int> height = {};  // of what hangs below a rank
  std::vector<Rank> order = {};  // from the root on
};

Rooted hung_from(Rank root, const std::vector<std::vector<Rank>>& next) {
  const std::size_t ranks = next.size();
  Rooted tree{.above = std::vector<Rank>(ranks, -1),
              .depth = std::vector<int>(ranks, 0),
              .height = std::vector<int>(ranks, 0),
              .order = {root}};
  for (std::size_t i = 0; i < tree.order.size(); ++i)
    for (Rank n : next[tree.order[i]])
      if (n != tree.above[tree.order[i]]) {
        tree.above[n] = tree.order[i];
        tree.depth[n] = tree.depth[tree.order[i]] + 1;
        tree.order.push_back(n);
      }
  for (auto n = tree.order.rbegin(); n != tree.order.rend(); ++n)
    if (tree.above[*n] >= 0)
      tree.height[tree.above[*n]] = std::max(tree.height[tree.above[*n]], tree.height[*n] + 1);
  return tree;
}

// From the middle of its longest path.
Rooted from_middle(int ranks, const std::vector<Edge>& edges, const std::vector<int>& tree) {
  std::vector<std::vector<Rank>> next(ranks);
  for (int e : tree) {
    next[edges[e].a].push_back(edges[e].b);
    next[edges[e].b].push_back(edges[e].a);
  }
  const Rooted from_end = hung_from(hung_from(0, next).order.back(), next);
  Rank middle = from_end.order.back();
  for (int up = from_end.depth[middle] / 2; up > 0; --up) middle = from_end.above[middle];
  return hung_from(middle, next);
}

// Sends over tree edges, with who waits for whom. Job 2n of a chunk goes up from rank n, job 2n + 1 comes down to it.
class Jobs {
 public:
  Jobs(const Topology& topology, const SumTrees& packed)
      : topology_(topology),
        together_(packed.different),
        rounds_of_these_(packed.rounds / (static_cast<int>(packed.trees.size()) / packed.different)) {
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
      links_[{topology.links[l].src, topology.links[l].dst}].push_back(l);
    for (const std::vector<int>& tree : packed.trees)
      trees_.push_back(from_middle(topology.ranks, packed.edges, tree));
  }

  // Steps of at most so many rounds. In turns: chunks one after the other; or by the way that is before them alone.
  Schedule in_steps_of(int rounds, bool in_turns) const {
    const int ranks = topology_.ranks;
    std::vector<std::vector<int>> waits(
        trees_.size());  // of each chunk, by rank: children that have not come up
    std::map<std::pair<Rank, Rank>, std::priority_queue<Ready>> ready;
    std::vector<std::pair<Chunk, int>> freed;  // since the last step
    long long left = 0;
    for (Chunk c = 0; c < std::ssize(trees_); ++c) {
      waits[c].assign(ranks, 0);
      for (Rank n = 0; n < ranks; ++n)
        if (trees_[c].above[n] >= 0) {
          ++waits[c][trees_[c].above[n]];
          left += 2;
        }
      for (Rank n = 0; n < ranks; ++n)
        if (waits[c][n] == 0 && trees_[c].above[n] >= 0) freed.push_back({c, 2 * n});
    }
    Schedule schedule;
    while (left > 0) {
      for (const auto& [c, job] : freed) {
        const Rank n = job / 2, above = trees_[c].above[n];
        const auto ends = job % 2 == 0 ? std::pair(n, above) : std::pair(above, n);
        const int far = job % 2 == 0 ? trees_[c].depth[n] + trees_[c].height[trees_[c].order.front()]
                                     : trees_[c].height[n];
        ready[ends].push({.urgency = far * rounds - (in_turns ? c / together_ * rounds_of_these_ : 0),
                          .chunk = c,
                          .job = job});
      }
      freed.clear();
      Step step;
      std::vector<Ready> done;
      for (auto& [ends, queue] : ready)
        for (LinkId l : links_.at(ends))
          for (int room = rounds * topology_.links[l].bandwidth; room > 0 && !queue.empty(); --room) {
            done.push_back(queue.top());
            queue.pop();
            step.sends.push_back({.chunk = done.back().chunk, .link = l, .reduce = done.back().job % 2 == 0});
          }
      for (const Ready& job : done) free_by(job, waits, freed);
      left -= static_cast<long long>(done.size());
      std::ranges::sort(step.sends);
      step.rounds = needed_rounds(topology_, step);
      schedule.steps.push_back(std::move(step));
    }
    return schedule;
  }

 private:
  struct Ready {
    int urgency = 0;  // rounds that it takes from here on, less those that chunks before it take
    Chunk chunk = 0;
    int job = 0;
    bool operator<(const Ready& other) const {
      return std::tuple(urgency, -chunk, -job) < std::tuple(other.urgency, -other.chunk, -other.job);
    }
  };

  // What goes up lets its parent go up, or, at the root, all children of it come down; what comes down lets those below.
  void free_by(const Ready& done, std::vector<std::vector<int>>& waits,
               std::vector<std::pair<Chunk, int>>& freed) const {
    const Rooted& tree = trees_[done.chunk];
    Rank complete = done.job / 2;
    if (done.job % 2 == 0) {
      const Rank above = tree.above[complete];
      if (--waits[done.chunk][above] > 0) return;
      if (tree.above[above] >= 0) return freed.push_back({done.chunk, 2 * above});
      complete = above;
    }
    for (Rank n = 0; n < topology_.ranks; ++n)
      if (tree.above[n] == complete) freed.push_back({done.chunk, 2 * n + 1});
  }

  const Topology& topology_;
  const int together_;         // chunks that take all trees
  const int rounds_of_these_;  // that they take
  std::map<std::pair<Rank, Rank>, std::vector<LinkId>> links_ = {};
  std::vector<Rooted> trees_ = {};
};

}  // namespace

std::optional<SumTrees> sum_trees(const Topology& topology, int chunks) {
  if (topology.ranks < 2 || !connected(topology)) return std::nullopt;
  const std::optional<std::vector<Edge>> edges = undirected(topology);
  if (!edges || static_cast<long long>(chunks) * topology.ranks > kMostPlaces) return std::nullopt;
  // The fewest trees that say all: where a divisor of the chunks needs no more rounds than its share, each of its trees
  // is that of several chunks.
  int fewest = 0;  // rounds that some partition says
  for (int trees = 1;; ++trees) {
    if (chunks % trees != 0) continue;
    Weakest found = fewest_rounds_of(topology.ranks, *edges, trees);
    fewest = std::max(fewest, rounds_across(*edges, found.group, chunks));
    if (found.rounds * (chunks / trees) > fewest && trees < chunks) continue;
    SumTrees packed{.rounds = found.rounds * (chunks / trees), .edges = *edges};
    for (Edge& edge : packed.edges) edge.copies *= found.rounds;
    const std::vector<std::vector<int>> low = lowered(topology.ranks, packed.edges, std::move(found.trees));
    for (Edge& edge : packed.edges) edge.copies *= chunks / trees;
    packed.different = trees;
    for (int c = 0; c < chunks; ++c) packed.trees.push_back(low[c % trees]);
    return packed;
  }
}

std::vector<Schedule> sum_on_trees(const Topology& topology, const Collective& collective,
                                   const std::atomic<bool>* stop) {
  if (collective.kind != CollectiveKind::AllReduce) return {};
  const std::optional<SumTrees> packed = sum_trees(topology, static_cast<int>(collective.chunks.size()));
  if (!packed) return {};
  const Jobs jobs(topology, *packed);
  std::vector<Schedule> schedules;
  for (int rounds = 1; rounds <= packed->rounds; rounds += rounds / 3 + 1) {
    if (stop != nullptr && *stop) break;
    for (bool in_turns : {true, false}) keep_undominated(schedules, jobs.in_steps_of(rounds, in_turns));
  }
  return schedules;
}

}  // namespace chorale
