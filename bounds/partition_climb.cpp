// Starts are single ranks, sides of a grid of rank numbers, and the pieces into which a tree of minimum cuts
// (Gomory and Hu, by Gusfield's method) falls when its lightest edges go; from each the search agglomerates
// to two groups, since the best partition may lie behind worse ones, and climbs from the best that it passed.
//
// The invariant that makes merges cheap: crossings are a sum over trees (Crossings), so to merge two groups
// loses a tree's weight where both have a terminal of it, and to move a rank examines that rank's trees
// alone. Capacity is a sum over links, by their fair shares of shared limits; these are what a cover of the
// crossing links must pay at least, so no partition is better than its ratio by shares, and the exact price
// is computed only for partitions that could win.
//
// What lost: merging by the gain alone, without agglomeration: two dense halves that one link joins are
// behind a hill. All is counted in the same order on the same input; work is counted, not timed.
#include "bounds/partition_climb.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "bounds/cuts.h"
#include "graph/max_flow.h"
#include "ir/agreement.h"

namespace chorale {
namespace {

RankSet joined(const RankSet& a, const RankSet& b) {
  std::vector<Rank> all;
  std::ranges::set_union(a, b, std::back_inserter(all));
  return all;
}

std::vector<int> groups_of(const RankSet& ranks, const std::vector<int>& group) {
  std::vector<int> groups;
  for (const Rank n : ranks) groups.push_back(group[n]);
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

}  // namespace

Crossings::Crossings(const Collective& collective)
    : combining_(collective.combining), once_(combining_ && adds_once(collective)) {
  std::map<RankSet, std::int64_t> weights;
  for (ChunkClass& each : chunk_classes(collective)) {
    if (each.pre.empty() || each.post.empty()) continue;
    const bool tree = each.pre.size() == 1 || (combining_ && !once_ && each.post.size() == 1);
    if (tree)
      weights[joined(each.pre, each.post)] += each.count();
    else if (combining_ && !once_ && each.pre == each.post)
      weights[each.pre] += 2 * each.count();
    else
      others_.push_back(std::move(each));
  }
  for (const auto& [ranks, weight] : weights)
    if (ranks.size() > 1) trees_.push_back({.ranks = ranks, .weight = weight});
}

// The group in which a sum is made at once is entered by each contribution of the others, and each other
// group that needs the sum by one send more.
std::int64_t Crossings::of_other(const ChunkClass& each, const std::vector<int>& group) const {
  if (once_) {
    std::vector<std::int64_t> entering(group.size(), std::ssize(each.pre));
    for (const Rank n : each.pre) --entering[group[n]];
    const std::vector<int> wanting = groups_of(each.post, group);
    for (std::int64_t& sends : entering) sends += std::ssize(wanting);
    for (const int g : wanting) --entering[g];
    return *std::ranges::min_element(entering) * each.count();
  }
  const std::vector<int> pre = groups_of(each.pre, group), post = groups_of(each.post, group);
  std::vector<int> both;
  std::ranges::set_intersection(pre, post, std::back_inserter(both));
  const auto crossings = static_cast<std::int64_t>(
      combining_ ? pre.size() + post.size() - 2 + (both.empty() ? 1 : 0) : post.size() - both.size());
  return crossings * each.count();
}

std::int64_t Crossings::of(const std::vector<int>& group) const {
  std::int64_t sum = 0;
  for (const Terminals& tree : trees_)
    sum += tree.weight * (static_cast<std::int64_t>(groups_of(tree.ranks, group).size()) - 1);
  for (const ChunkClass& each : others_) sum += of_other(each, group);
  return sum;
}

bool Crossings::has_wide_trees() const {
  return !others_.empty() ||
         std::ranges::any_of(trees_, [](const Terminals& tree) { return tree.ranks.size() > 2; });
}

namespace {

using Group = std::vector<int>;  // by rank

constexpr double kLeastPartitionGain = 1e-9;  // above what rounding can produce
constexpr int kMostCutStarts = 6;      // of the tree of cuts, besides what they are worth by themselves
constexpr int kPartitionTurns = 8;     // of Newton's method from one start
constexpr std::size_t kMostTried = 8;  // changes that seem to gain, before a partition is left as it is
constexpr int kPartitionKicks = 60;    // from the best partition, when all starts have been climbed from

int groups_in(const Group& group) {
  return static_cast<int>(std::set<int>(group.begin(), group.end()).size());
}

class Climb {
 public:
  Climb(const Topology& topology, const Crossings& crossings,
        const std::function<double(const Group&)>& consider, const ClimbLimits& limits)
      : topology_(topology),
        crossings_(crossings),
        consider_(consider),
        limits_(limits),
        trees_of_(topology.ranks),
        links_of_(topology.ranks) {
    for (std::size_t t = 0; t < crossings.trees().size(); ++t)
      for (const Rank n : crossings.trees()[t].ranks) trees_of_[n].push_back(static_cast<int>(t));
    for (std::size_t l = 0; l < topology.links.size(); ++l) {
      links_of_[topology.links[l].src].push_back(static_cast<LinkId>(l));
      links_of_[topology.links[l].dst].push_back(static_cast<LinkId>(l));
    }
    all_shares_ = fair_shares(topology, crossing_links(topology, single_ranks(topology.ranks)));
  }

  void run() {
    for (const Group& start : starts()) {
      if (over()) return;
      from(start);
    }
    for (int kick = 0; kick < kPartitionKicks && !over() && !best_group_.empty(); ++kick) {
      Group group = kicked(best_group_);
      improve(group);
      ask(group);
    }
  }

 private:
  bool over() const { return work_ > limits_.work || (limits_.stop != nullptr && *limits_.stop); }

  std::vector<Group> starts() {
    std::vector<Group> all = number_partitions(topology_.ranks);
    all.insert(all.begin(), single_ranks(topology_.ranks));
    for (Group& pieces : cut_pieces()) all.push_back(std::move(pieces));
    return all;
  }

  // Crossings over the shares of the crossing links: no more can be shown by this partition.
  double ratio(const Group& group) {
    set(group);
    return capacity_ > 0 ? static_cast<double>(crossings_.of(group)) / capacity_ : 0;
  }

  void from(const Group& start) {
    Group group = best_on_the_way(start);
    ask(group);
    for (int turn = 0; turn < kPartitionTurns && !over(); ++turn) {
      const double before = best_;
      improve(group);
      ask(group);
      if (best_ <= before) return;
    }
  }

  void ask(const Group& group) {
    if (groups_in(group) < 2 || ratio(group) <= best_ * (1 + kLeastPartitionGain)) return;
    const double known = consider_(group);
    if (known > best_ * (1 + kLeastPartitionGain) || best_group_.empty()) best_group_ = group;
    best_ = std::max(best_, known);
  }

  // Two groups become one, or a rank takes some of its neighbours away to a group of their own or of another.
  Group kicked(Group group) {
    const auto any_rank = [&] { return static_cast<Rank>(random_() % group.size()); };
    for (int times = 1 + static_cast<int>(random_() % 2); times > 0; --times) {
      const Rank n = any_rank();
      if (random_() % 3 == 0) {
        const int from = group[any_rank()], to = group[n];
        std::ranges::replace(group, from, to);
        continue;
      }
      const int fresh = unused(group), to = fresh >= 0 && random_() % 2 == 0 ? fresh : group[any_rank()];
      for (const LinkId l : links_of_[n])
        if (random_() % 2 == 0) group[topology_.links[l].dst] = to;
      group[n] = to;
    }
    return group;
  }

  // Merges until two groups are left, and returns the best of all partitions met.
  Group best_on_the_way(const Group& start) {
    ask(start);
    Group group = start, best = start;
    double most = ratio(start);
    while (!over() && groups_in(group) > 2) {
      set(group);
      if (!merge_best(group, most)) break;
      if (const double now = ratio(group); now > most * (1 + kLeastPartitionGain)) {
        most = now;
        best = group;
      }
    }
    return best;
  }

  // Merges and moves as long as crossings - best ratio * capacity grows. What a limit has left when some of
  // its links are inside goes to the others, so there a gain may be none, and the next ones are tried.
  void improve(Group& group) {
    set(group);
    double worth = worth_of(group);
    while (!over()) {
      std::vector<Change> changes = merges(group);
      if (changes.empty() || topology_.limits.size() > 0) moves(group, changes);
      std::ranges::stable_sort(changes, std::greater<>(), &Change::gain);
      bool better = false;
      for (std::size_t i = 0; i < changes.size() && i < kMostTried && !better && !over(); ++i) {
        Group changed = group;
        apply(changes[i], changed);
        set(changed);
        if (const double now = worth_of(changed); now > worth + kLeastPartitionGain) {
          worth = now;
          group = std::move(changed);
          better = true;
        }
      }
      if (!better) return;
    }
  }

  // Of the partition that was set.
  double worth_of(const Group& group) const {
    return static_cast<double>(crossings_.of(group)) - best_ * capacity_;
  }

  struct Change {
    double gain = 0;
    Rank rank = -1;  // that moves to group `to`; -1: group `from` becomes part of `to`
    int from = 0, to = 0;
  };

  static void apply(const Change& change, Group& group) {
    if (change.rank >= 0)
      group[change.rank] = change.to;
    else
      std::ranges::replace(group, change.from, change.to);
  }

  // --- what is known of a partition ---

  void set(const Group& group) {
    shares_ =
        topology_.limits.empty() ? all_shares_ : fair_shares(topology_, crossing_links(topology_, group));
    between_.clear();
    capacity_ = 0;
    for (std::size_t l = 0; l < shares_.size(); ++l) {
      const int a = group[topology_.links[l].src], b = group[topology_.links[l].dst];
      if (a == b) continue;
      capacity_ += shares_[l];
      between_[{std::min(a, b), std::max(a, b)}] += shares_[l];
    }
    // Of each group, how many terminals of each tree it has.
    terminals_.assign(topology_.ranks, {});
    for (Rank n = 0; n < topology_.ranks; ++n)
      for (const int t : trees_of_[n]) ++terminals_[group[n]][t];
    work_ += static_cast<long long>(shares_.size()) * (topology_.limits.empty() ? 2 : 8);
    for (const std::vector<int>& each : trees_of_) work_ += static_cast<long long>(each.size()) + 1;
  }

  // Crossings that merging two groups loses.
  std::int64_t lost(int a, int b, const Group& group) {
    std::int64_t sum = 0;
    const auto &small = terminals_[a].size() < terminals_[b].size() ? terminals_[a] : terminals_[b],
               &large = terminals_[a].size() < terminals_[b].size() ? terminals_[b] : terminals_[a];
    for (const auto& [t, count] : small)
      if (large.contains(t)) sum += crossings_.trees()[t].weight;
    work_ += static_cast<long long>(small.size()) + 1;
    if (crossings_.others().empty()) return sum;
    Group merged = group;
    std::ranges::replace(merged, b, a);
    return sum + others(group) - others(merged);
  }

  std::int64_t others(const Group& group) {
    std::int64_t sum = 0;
    for (const ChunkClass& each : crossings_.others()) {
      sum += crossings_.of_other(each, group);
      work_ += static_cast<long long>(each.pre.size() + each.post.size());
    }
    return sum;
  }

  // The merge that gains the most at that ratio, or loses the least.
  bool merge_best(Group& group, double at) {
    double most = -1e300;
    std::pair<int, int> merged = {-1, -1};
    for (const auto& [pair, capacity] : between_) {
      const double gain = at * capacity - static_cast<double>(lost(pair.first, pair.second, group));
      if (gain > most + kLeastPartitionGain) {
        most = gain;
        merged = pair;
      }
    }
    if (merged.first < 0) return false;
    std::ranges::replace(group, merged.second, merged.first);
    return true;
  }

  // Those that seem to gain something at the best ratio.
  std::vector<Change> merges(const Group& group) {
    std::vector<Change> changes;
    if (between_.size() < 2) return changes;
    for (const auto& [pair, capacity] : between_)
      if (const double gain = best_ * capacity - static_cast<double>(lost(pair.first, pair.second, group));
          gain > kLeastPartitionGain)
        changes.push_back({.gain = gain, .from = pair.second, .to = pair.first});
    return changes;
  }

  // Of a rank to a neighbouring group, or to one of its own.
  void moves(const Group& group, std::vector<Change>& changes) {
    const int fresh = unused(group);
    for (Rank n = 0; n < topology_.ranks && !over(); ++n) {
      // Links inside have the share that they had when all crossed.
      std::map<int, double> with;
      for (const LinkId l : links_of_[n]) {
        const Rank other = topology_.links[l].src == n ? topology_.links[l].dst : topology_.links[l].src;
        if (other != n) with[group[other]] += group[other] == group[n] ? all_shares_[l] : shares_[l];
      }
      work_ += static_cast<long long>(links_of_[n].size());
      const double stays = with.contains(group[n]) ? with[group[n]] : 0;
      if (fresh >= 0) with.emplace(fresh, 0);
      for (const auto& [g, capacity] : with) {
        if (g == group[n]) continue;
        const double gain = best_ * (capacity - stays) + static_cast<double>(gained(n, g, group));
        if (gain > kLeastPartitionGain) changes.push_back({.gain = gain, .rank = n, .to = g});
      }
    }
  }

  // Crossings that a rank's move adds.
  std::int64_t gained(Rank n, int to, const Group& group) {
    std::int64_t sum = 0;
    for (const int t : trees_of_[n]) {
      const std::int64_t weight = crossings_.trees()[t].weight;
      if (terminals_[group[n]].at(t) == 1) sum -= weight;
      if (!terminals_[to].contains(t)) sum += weight;
    }
    work_ += static_cast<long long>(trees_of_[n].size());
    if (crossings_.others().empty()) return sum;
    Group after = group;
    after[n] = to;
    return sum + others(after) - others(group);
  }

  int unused(const Group& group) const {
    std::vector<bool> used(topology_.ranks, false);
    for (const int g : group) used[g] = true;
    const auto at = std::ranges::find(used, false);
    return at == used.end() ? -1 : static_cast<int>(at - used.begin());
  }

  // --- where it starts ---

  // A tree of minimum cuts, links taken for both directions: the cut between two ranks is the lightest edge
  // between them. Its pieces without the k lightest edges, for the k that are worth the most.
  std::vector<Group> cut_pieces() {
    const int n = topology_.ranks;
    MaxFlow flow(n);
    std::vector<int> arcs;
    constexpr double kScale = 1 << 20;
    std::map<std::pair<Rank, Rank>, double> widths;
    for (std::size_t l = 0; l < all_shares_.size(); ++l)
      widths[std::minmax(topology_.links[l].src, topology_.links[l].dst)] += all_shares_[l];
    for (const auto& [ends, width] : widths) {
      const auto capacity = static_cast<std::int64_t>(width * kScale);
      flow.add_arc(ends.first, ends.second, capacity);
      flow.add_arc(ends.second, ends.first, capacity);
    }
    std::vector<Rank> parent(n, 0);
    std::vector<std::int64_t> weight(n, 0);
    for (Rank v = 1; v < n; ++v) {
      if (work_ + flow.work() > limits_.work / 4 || (limits_.stop != nullptr && *limits_.stop)) {
        work_ += flow.work();
        return {};
      }
      weight[v] = flow.run(v, parent[v]);
      flow.find_cut();
      for (Rank u = v + 1; u < n; ++u)
        if (parent[u] == parent[v] && flow.on_source_side(u)) parent[u] = v;
    }
    work_ += flow.work();
    std::vector<Rank> edges(n - 1);
    std::iota(edges.begin(), edges.end(), 1);
    std::ranges::stable_sort(edges, {}, [&](Rank v) { return weight[v]; });
    std::vector<std::pair<double, Group>> pieces;
    const auto keep = [&](const Group& group) {
      const double worth = ratio(group);
      ask(group);
      pieces.emplace_back(-worth, group);
    };
    std::vector<bool> cut(n, false);
    for (std::size_t k = 0; k < edges.size() && !over(); ++k) {
      cut[edges[k]] = true;
      // Equal edges are removed together, and each alone gives a partition into two groups.
      std::vector<bool> alone(n, false);
      alone[edges[k]] = true;
      keep(pieces_without(alone, parent));
      if (k + 1 == edges.size() || weight[edges[k + 1]] != weight[edges[k]])
        keep(pieces_without(cut, parent));
    }
    std::ranges::stable_sort(pieces, {}, &std::pair<double, Group>::first);
    std::vector<Group> result;
    for (std::size_t i = 0; i < pieces.size() && i < kMostCutStarts; ++i)
      result.push_back(std::move(pieces[i].second));
    return result;
  }

  // Ranks of the tree (a parent comes before its children or is 0 at the end of every path up) without the
  // cut edges.
  static Group pieces_without(const std::vector<bool>& cut, const std::vector<Rank>& parent) {
    Group group(parent.size(), -1);
    for (Rank v = 0; v < std::ssize(parent); ++v) {
      std::vector<Rank> way;
      Rank at = v;
      while (group[at] < 0 && at != 0 && !cut[at]) {
        way.push_back(at);
        at = parent[at];
      }
      const int name = group[at] >= 0 ? group[at] : at;
      group[at] = name;
      for (const Rank u : way) group[u] = name;
    }
    return group;
  }

  const Topology& topology_;
  const Crossings& crossings_;
  const std::function<double(const Group&)>& consider_;
  const ClimbLimits limits_;
  std::vector<std::vector<int>> trees_of_;     // by rank
  std::vector<std::vector<LinkId>> links_of_;  // by rank: that leave or enter it
  std::vector<double> all_shares_ = {};        // by link, where every rank is a group
  std::vector<double> shares_ = {};            // by link, of the partition that was set
  double capacity_ = 0;                        // of its crossing links
  std::map<std::pair<int, int>, double> between_ = {};
  std::vector<std::map<int, int>> terminals_ = {};  // by group, by tree
  double best_ = 0;
  Group best_group_ = {};
  std::mt19937 random_;  // with its standard seed: the same on every machine
  long long work_ = 0;
};

}  // namespace

std::vector<int> single_ranks(int ranks) {
  std::vector<int> group(ranks);
  std::iota(group.begin(), group.end(), 0);
  return group;
}

std::vector<std::vector<int>> number_partitions(int ranks) {
  std::vector<Group> all;
  for (int side = 2; side < ranks; ++side) {
    if (ranks % side != 0) continue;
    Group blocks(ranks), places(ranks);
    for (Rank n = 0; n < ranks; ++n) {
      blocks[n] = n / side;
      places[n] = n % side;
    }
    all.push_back(std::move(blocks));
    all.push_back(std::move(places));
  }
  return all;
}

void climb_partitions(const Topology& topology, const Crossings& crossings,
                      const std::function<double(const std::vector<int>&)>& consider,
                      const ClimbLimits& limits) {
  if (topology.ranks > 1) Climb(topology, crossings, consider, limits).run();
}

}  // namespace chorale
