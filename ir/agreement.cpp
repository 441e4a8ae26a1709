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

// A tree of one inner node. Of two ranks every order is that, and each sum is rounded once in any case.
bool adds_once(const Collective& collective) {
  const CombinationTree& tree = collective.order.tree;
  return adds(collective) && collective.order.kind == SumOrder::Kind::Fixed && tree.leaves > 2 &&
         std::ssize(tree.parent) <= tree.leaves + 1;
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

// Files state how ranks add where that is not visible from the order of sends. A rank that receives several
// values of a chunk in a step adds them from the left in most cases: then its sends are listed in that order,
// and nothing else is stated. Other trees of additions are stated in brackets, after the sends.

namespace {

// What arrives at a rank of one chunk in a step, as positions in the list of sends.
struct Arrivals {
  std::optional<std::size_t> copy = {};
  std::vector<std::size_t> added = {};  // value k of SumMade is added[k - 1]
};

// One sum that a rank makes in a step: its additions, and the sends that bring the values. Value 0 is what
// the rank holds, or the copy that replaces it; value k is added[k - 1].
class StatedChunk {
 public:
  StatedChunk(const Topology& topology, const Step& step, const Arrivals& arrivals, const SumMade& made)
      : topology_(topology), step_(step), arrivals_(arrivals), made_(made) {}

  // Values in the order in which they are added from the left, what the rank holds first; none where the
  // additions are another tree.
  // A chain: each addition joins the running sum with a value not met before. The sum may be on either side,
  // since addition of two values is commutative, bit by bit.
  std::optional<std::vector<int>> from_the_left() const {
    std::vector<bool> met(arrivals_.added.size() + 1, false);
    // Value 0 comes first if it takes part at all; else the sum starts with what the first addition adds to.
    const bool holds =
        std::ranges::any_of(made_.additions, [](const Addition& a) { return a.into == 0 || a.from == 0; });
    int sum = holds ? 0 : made_.additions.front().into;
    std::vector<int> order = {sum};
    met[sum] = true;
    for (const auto& [into, from] : made_.additions) {
      const int other = into == sum ? from : into;
      if ((into != sum && from != sum) || met[other]) return std::nullopt;
      met[other] = true;
      order.push_back(other);
      sum = into;
    }
    return order;
  }

  // "((0 1) 2)": ranks stand for the values that they sent, the rank itself for what it held. Additions to
  // one value follow each other in one pair of brackets, so the closing one is written when the sum is used.
  std::string in_brackets() const {
    std::vector<std::string> sums(arrivals_.added.size() + 1);  // without the last bracket
    const auto whole = [&](int value) {
      return sums[value].empty() ? fmt::format("{}", rank_of(value)) : sums[value] + ")";
    };
    for (const auto& [into, from] : made_.additions) {
      const std::string more = " " + whole(from);
      if (sums[into].empty()) sums[into] = "(" + whole(into);
      sums[into] += more;
    }
    return whole(made_.additions.back().into);
  }

 private:
  Rank rank_of(int value) const {
    if (value > 0) return source(arrivals_.added[value - 1]);
    return arrivals_.copy ? source(*arrivals_.copy) : made_.rank;
  }
  Rank source(std::size_t send) const { return topology_.links[step_.sends[send].link].src; }

  const Topology& topology_;
  const Step& step_;
  const Arrivals& arrivals_;
  const SumMade& made_;
};

// A schedule from a file may be wrong; its sums are stated only if every number in it is one of the machine.
bool in_range(const Topology& topology, const Collective& collective, const Schedule& schedule) {
  return std::ranges::all_of(schedule.steps, [&](const Step& step) {
    return std::ranges::all_of(step.sends, [&](const Send& send) {
      return send.chunk >= 0 && send.chunk < std::ssize(collective.chunks) && send.link >= 0 &&
             send.link < std::ssize(topology.links) && topology.links[send.link].dst < collective.ranks &&
             topology.links[send.link].src < collective.ranks;
    });
  });
}

using ByChunkAndRank = std::map<std::pair<Chunk, Rank>, Arrivals>;

// Those of more than one send. A step may have millions of sends, mostly by chunk already: of a chunk there
// are few, and ranks are marked with the first send to each.
ByChunkAndRank several_arrivals(const Topology& topology, const Step& step) {
  std::vector<std::size_t> by_chunk(step.sends.size());
  std::iota(by_chunk.begin(), by_chunk.end(), std::size_t{0});
  const auto chunk = [&](std::size_t i) { return step.sends[i].chunk; };
  if (!std::ranges::is_sorted(by_chunk, {}, chunk)) std::ranges::stable_sort(by_chunk, {}, chunk);
  constexpr std::size_t kNone = -1;
  std::vector<std::size_t> first(topology.ranks, kNone);
  ByChunkAndRank several;
  const auto add = [&](Arrivals& there, std::size_t i) {
    if (step.sends[i].reduce)
      there.added.push_back(i);
    else
      there.copy = i;
  };
  for (std::size_t begin = 0, end = 0; begin < by_chunk.size(); begin = end) {
    for (; end < by_chunk.size() && chunk(by_chunk[end]) == chunk(by_chunk[begin]); ++end) {
      const std::size_t i = by_chunk[end];
      const Rank to = topology.links[step.sends[i].link].dst;
      if (first[to] == kNone) {
        first[to] = i;
        continue;
      }
      const auto [there, fresh] = several.try_emplace({chunk(i), to});
      if (fresh) add(there->second, first[to]);
      add(there->second, i);
    }
    for (std::size_t k = begin; k < end; ++k) first[topology.links[step.sends[by_chunk[k]].link].dst] = kNone;
  }
  return several;
}

// The sends of `from` take the places that they have together, in this order; all others stay where they are.
// Sends 2, 5 and 9 of a step, added as the values 3, 1, 2, become 9 at place 2, 2 at 5, and 5 at 9.
void put_in_order(const Step& step, const Arrivals& from, const std::vector<int>& values,
                  std::vector<Send>& sends) {
  std::vector<std::size_t> places = from.added, order;
  if (from.copy) {
    places.push_back(*from.copy);
    order.push_back(*from.copy);
  }
  std::ranges::sort(places);
  for (const int value : values)
    if (value > 0) order.push_back(from.added[value - 1]);
  if (order.size() != places.size()) return;  // a send of what its sender does not hold
  for (std::size_t i = 0; i < order.size(); ++i) sends[places[i]] = step.sends[order[i]];
}

}  // namespace

// Most schedules state nothing: sums are followed only for chunks of which a rank receives several values in
// one step.
std::vector<StatedStep> stated_steps(const Topology& topology, const Collective& collective,
                                     const Schedule& schedule) {
  std::vector<StatedStep> stated;
  for (const Step& step : schedule.steps) stated.push_back({.sends = step.sends});
  if (!collective.combining || !in_range(topology, collective, schedule)) return stated;
  std::vector<ByChunkAndRank> several;
  for (const Step& step : schedule.steps) several.push_back(several_arrivals(topology, step));
  if (std::ranges::all_of(several, &ByChunkAndRank::empty)) return stated;
  const SendsByChunk all = sends_by_chunk(collective, schedule);
  std::vector<char> may_differ(collective.chunks.size(), 0);
  for (const ByChunkAndRank& step : several)
    for (const auto& [place, arrivals] : step) may_differ[place.first] = 1;
  for (Chunk c = 0; c < std::ssize(collective.chunks); ++c) {
    if (may_differ[c] == 0) continue;
    for (const SumMade& made : sums_of(topology, collective, c, all.of(c)).sums) {
      const std::size_t s = made.step - 1;
      const auto found = several[s].find({c, made.rank});
      if (found == several[s].end() || made.additions.empty()) continue;
      const StatedChunk sum(topology, schedule.steps[s], found->second, made);
      if (const std::optional<std::vector<int>> values = sum.from_the_left())
        put_in_order(schedule.steps[s], found->second, *values, stated[s].sends);
      else
        stated[s].sums.push_back({c, made.rank, sum.in_brackets()});
    }
  }
  for (StatedStep& step : stated)
    std::ranges::sort(step.sums, {}, [](const StatedSum& sum) { return std::pair(sum.chunk, sum.rank); });
  return stated;
}

}  // namespace chorale
