// A chunk is followed through its steps. A *version* is a value that some rank comes to hold: a contribution,
// or a sum of older versions; copies of it are the same version. Versions from which no destination's value
// is made are dead, and may be added up in any order.
//
// Mostly all destinations end with one version, and then there is nothing to compare: each of its sums is
// made once. Else the used versions are compared as sets, the largest first: each rank knows the smallest set
// so far that it is in, and the members of the next set must all know the same one.
#include "ir/agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

namespace chorale {
namespace {

using Bits = std::vector<std::uint64_t>;

// A contribution has no operands, and `rank` is where it starts. Of a sum operands[0] is what the rank held,
// or the copy that replaced it, and operands[k] what the k-th adding send brought. `node` is its place in the
// combination tree: a contribution is the leaf of its rank; a sum has -1 until it is known.
struct Version {
  std::vector<int> operands = {};  // as SumMade numbers them; -1: none
  int step = 0;
  Rank rank = 0;
  bool used = false;
  int node = -1;
};

class ChunkHistory {
 public:
  ChunkHistory(const Topology& topology, const Collective& collective, Chunk c,
               std::span<const ChunkSend> sends)
      : topology_(topology),
        order_(collective.order),
        spec_(collective.chunks[c]),
        held_(topology.ranks, -1) {
    for (Rank n : spec_.pre) {
      held_[n] = static_cast<int>(versions_.size());
      versions_.push_back({.rank = n, .node = n});
    }
    for (std::size_t i = 0; i < sends.size();) {
      std::size_t next = i;
      while (next < sends.size() && sends[next].step == sends[i].step) ++next;
      add_step(sends.subspan(i, next - i));
      i = next;
    }
  }

  // Additions of used versions follow a tree: the one that is asked for, without the ranks that contribute
  // nothing; or, if destinations end with different versions, the one that the versions themselves form.
  // Without a tree, and of dead versions, values are added in the order of their numbers.
  ChunkSums sums() {
    ChunkSums result;
    mark_used();
    std::optional<CombinationTree> tree;
    if (order_.kind == SumOrder::Kind::Fixed)
      tree = restricted(order_.tree, {spec_.pre.begin(), spec_.pre.end()});
    else if (order_.kind == SumOrder::Kind::Agreed && several_versions())
      tree = nested(result);
    std::optional<Combining> along;
    if (tree) along.emplace(*tree);
    for (Version& version : versions_) {
      if (version.operands.empty()) continue;
      const std::optional<Combined> how =
          along && version.used ? combined(*along, version) : in_turn(version);
      if (!how && result.disagreement.empty())
        result.disagreement =
            fmt::format("step {}: rank {} adds up {}, which is not a node of the tree {}", version.step,
                        version.rank, named(members(version)), to_string(order_.tree));
      if (how) result.sums.push_back({version.step, version.rank, how->additions});
    }
    return result;
  }

 private:
  // All sends read what was held before the step, so held_ changes only when all have been collected. A rank
  // at which one value is left has a copy, which is no new version; a send of what its sender does not hold
  // is -1 and is left out.
  void add_step(std::span<const ChunkSend> sends) {
    std::map<Rank, std::vector<int>> arrived;  // values of SumMade
    for (const ChunkSend& each : sends) {
      const Link& link = topology_.links[each.send.link];
      auto [at, first] = arrived.try_emplace(link.dst, std::vector<int>{held_[link.dst]});
      if (each.send.reduce)
        at->second.push_back(held_[link.src]);
      else
        at->second.front() = held_[link.src];
    }
    for (auto& [n, values] : arrived) {
      const auto held = std::ranges::count_if(values, [](int v) { return v >= 0; });
      if (held == 1) {
        held_[n] = *std::ranges::find_if(values, [](int v) { return v >= 0; });
      } else if (held > 1) {
        held_[n] = static_cast<int>(versions_.size());
        versions_.push_back({.operands = std::move(values), .step = sends.front().step, .rank = n});
      }
    }
  }

  // Operands are older than what is made of them.
  void mark_used() {
    for (Rank n : spec_.post)
      if (held_[n] >= 0) versions_[held_[n]].used = true;
    for (auto version = versions_.rbegin(); version != versions_.rend(); ++version)
      for (int v : version->operands)
        if (v >= 0 && version->used) versions_[v].used = true;
  }

  bool several_versions() const {
    return std::ranges::any_of(spec_.post, [&](Rank n) { return held_[n] != held_[spec_.post.front()]; });
  }

  // Makes a sum that no other rank makes: in the order in which its values are numbered.
  static Combined in_turn(const Version& version) {
    Combined result;
    int sum = -1;
    for (int k = 0; k < std::ssize(version.operands); ++k) {
      if (version.operands[k] < 0) continue;
      if (sum >= 0) result.additions.push_back({.into = sum, .from = k});
      if (sum < 0) sum = k;
    }
    return result;
  }

  // Of a fixed tree a version's node is found here; of one that was made of the versions it is known.
  std::optional<Combined> combined(const Combining& along, Version& version) const {
    std::vector<int> nodes, values;
    for (int k = 0; k < std::ssize(version.operands); ++k) {
      if (version.operands[k] < 0) continue;
      nodes.push_back(versions_[version.operands[k]].node);
      values.push_back(k);
      if (nodes.back() < 0) return std::nullopt;
    }
    std::optional<Combined> result = along(nodes);
    if (!result) return result;
    for (Addition& each : result->additions) each = {values[each.into], values[each.from]};
    version.node = result->node;
    return result;
  }

  // Walks down to the contributions at every call: only for single contributions and for messages. nested()
  // computes the sets of all versions in one pass.
  Bits members(const Version& version) const {
    Bits bits((topology_.ranks + 63) / 64, 0);
    if (version.operands.empty()) bits[version.rank / 64] |= std::uint64_t{1} << version.rank % 64;
    for (int v : version.operands) {
      if (v < 0) continue;
      const Bits more = members(versions_[v]);
      for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= more[i];
    }
    return bits;
  }

  std::vector<Rank> listed(const Bits& bits) const {
    std::vector<Rank> ranks;
    for (Rank n = 0; n < topology_.ranks; ++n)
      if (bits[n / 64] >> n % 64 & 1) ranks.push_back(n);
    return ranks;
  }
  std::string named(const Bits& bits) const { return fmt::format("{{{}}}", fmt::join(listed(bits), " ")); }

  // The tree whose nodes are the sets of the used versions; none where two of them overlap. Equal sets are
  // one node, by the first version that has them. Nodes are numbered by rising size, so children come before
  // parents; the walk that links them goes from the largest set down, and tree.parent[n] is meanwhile the
  // smallest set so far with rank n. Example: {0 1 2 3}, then {0 1}: the members 0 and 1 both know the first,
  // which becomes the parent of the second. Then {1 2}: 1 knows {0 1} and 2 knows {0 1 2 3}, so there is no
  // tree.
  std::optional<CombinationTree> nested(ChunkSums& result) {
    std::vector<Bits> sets(versions_.size(), Bits((topology_.ranks + 63) / 64, 0));
    std::map<Bits, int> known;  // the first version with this set
    std::vector<int> different;
    const auto operands = [&](int v) {
      std::vector<Bits> values;
      for (int operand : versions_[v].operands)
        if (operand >= 0) values.push_back(sets[operand]);
      std::ranges::sort(values);
      return values;
    };
    for (int v = 0; v < std::ssize(versions_); ++v) {
      Version& version = versions_[v];
      if (version.operands.empty()) sets[v] = members(version);
      for (int operand : version.operands)
        for (std::size_t i = 0; operand >= 0 && i < sets[v].size(); ++i) sets[v][i] |= sets[operand][i];
      if (version.operands.empty() || !version.used) continue;
      const auto [first, is_first] = known.try_emplace(sets[v], v);
      if (is_first) different.push_back(v);
      result.alike = result.alike && (is_first || operands(v) == operands(first->second));
    }
    const auto size = [&](int v) {
      return std::accumulate(sets[v].begin(), sets[v].end(), 0,
                             [](int sum, std::uint64_t word) { return sum + std::popcount(word); });
    };
    std::ranges::stable_sort(different, {}, size);
    CombinationTree tree{.leaves = topology_.ranks, .parent = std::vector<int>(topology_.ranks, -1)};
    for (int v : different) {
      versions_[v].node = static_cast<int>(tree.parent.size());
      tree.parent.push_back(-1);
    }
    for (auto v = different.rbegin(); v != different.rend(); ++v) {
      const std::vector<Rank> ranks = listed(sets[*v]);
      const int within = tree.parent[ranks.front()];
      const auto other = std::ranges::find_if(ranks, [&](Rank n) { return tree.parent[n] != within; });
      if (other != ranks.end()) {
        // Of the two smallest sets so far one overlaps this set without containing it; it is not contained
        // either, since it is no smaller.
        const int overlaps = within < 0 || (tree.parent[*other] >= 0 && tree.parent[*other] < within)
                                 ? tree.parent[*other]
                                 : within;
        result.disagreement = fmt::format(
            "partial sums of ranks {} and of {} are both used, so its destinations add up in different "
            "orders",
            named(sets[*v]), named(sets[different[overlaps - topology_.ranks]]));
        return std::nullopt;
      }
      tree.parent[versions_[*v].node] = within;
      for (Rank n : ranks) tree.parent[n] = versions_[*v].node;
    }
    for (int v = 0; v < std::ssize(versions_); ++v)
      if (versions_[v].used && !versions_[v].operands.empty())
        versions_[v].node = versions_[known.at(sets[v])].node;
    return tree;
  }

  const Topology& topology_;
  const SumOrder& order_;
  const ChunkSpec& spec_;
  std::vector<int> held_;  // by rank: its version, or -1
  std::vector<Version> versions_ = {};
};

}  // namespace

ChunkSums sums_of(const Topology& topology, const Collective& collective, Chunk c,
                  std::span<const ChunkSend> sends) {
  return ChunkHistory(topology, collective, c, sends).sums();
}

// Sorted by counting, which leaves sends of a step in the order in which they come.
SendsByChunk sends_by_chunk(const Collective& collective, const Schedule& schedule) {
  SendsByChunk result{.begin = std::vector<std::size_t>(collective.chunks.size() + 1, 0)};
  for (const Step& step : schedule.steps)
    for (const Send& send : step.sends) ++result.begin[send.chunk + 1];
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  result.sends.resize(result.begin.back());
  std::vector<std::size_t> next = result.begin;
  int s = 0;
  for (const Step& step : schedule.steps) {
    ++s;
    for (const Send& send : step.sends) result.sends[next[send.chunk]++] = {.step = s, .send = send};
  }
  return result;
}

// Chunks of fewer than three contributions, and most others with one destination, ask for no order.
bool sums_are_alike(const Topology& topology, const Collective& collective, const Schedule& schedule) {
  const SendsByChunk sends = sends_by_chunk(collective, schedule);
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c)
    if (asks_order(collective, c) && !sums_of(topology, collective, c, sends.of(c)).alike) return false;
  return true;
}

// A fixed tree needs different ranks; where one has several of the chunks, or no node is just their sum, the
// order is that of the list.
std::vector<Addition> local_sum(const Collective& collective, std::span<const Chunk> chunks) {
  if (collective.order.kind == SumOrder::Kind::Fixed) {
    std::vector<int> ranks;
    for (const Chunk c : chunks) ranks.push_back(collective.chunks[c].pre.front());
    std::vector<int> sorted = ranks;
    std::ranges::sort(sorted);
    const CombinationTree tree = restricted(collective.order.tree, sorted);
    if (std::ranges::adjacent_find(sorted) == sorted.end())
      if (const std::optional<Combined> along = Combining(tree)(ranks)) return along->additions;
  }
  std::vector<Addition> additions;
  for (int k = 1; k < std::ssize(chunks); ++k) additions.push_back({.into = 0, .from = k});
  return additions;
}

}  // namespace chorale
