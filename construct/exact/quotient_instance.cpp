// Distances are of one breadth-first search for each set of ranks that chunks start at. Entries: the bins of
// a link are itself, unless a limit over it is always the tighter one, and its limits, all up to symmetry;
// links into a rank with the same bins are one entry, so that a rank behind a switch has one for the switch
// and not one for each other rank.
#include "construct/exact/quotient_instance.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <set>

namespace chorale {
namespace {

constexpr std::uint16_t kFar = std::numeric_limits<std::uint16_t>::max();

// Which representative uses which links of a bin.
struct BinUse {
  std::vector<LinkId> links = {};
  int weight = 0;
  int representative = -1;
};

}  // namespace

QuotientInstance::QuotientInstance(const Topology& topology, const Collective& collective,
                                   std::vector<std::vector<Rank>> group)
    : topology_(topology), collective_(collective), group_(std::move(group)), orbits_(topology, group_) {
  assert(!group_.empty() && !collective.combining && topology.switches == 0);
  find_orbits();
  find_distances();
  for (long long capacity : orbits_.capacities()) bins_.push_back({.capacity = capacity});
  const std::vector<std::vector<LinkId>> ways = links_in();
  const std::vector<bool> idle = find_splits(ways);
  for (const std::vector<LinkId>& into : ways) entries_.push_back(joined(into, idle));
  separate_ = std::ranges::all_of(entries_, [&](const auto& entries) { return nested(entries); });
}

// back_[u][m] is the rank that the element of u carries to m: what u has of m, its representative has of that
// rank.
void QuotientInstance::find_orbits() {
  index_.assign(ranks(), -1);
  element_.assign(ranks(), 0);
  for (Rank n = 0; n < ranks(); ++n) {
    if (index_[n] >= 0) continue;
    for (int g = 0; g < order(); ++g) {
      index_[group_[g][n]] = static_cast<int>(representatives_.size());
      element_[group_[g][n]] = g;
    }
    representatives_.push_back(n);
  }
  if (order() == 1) return;
  back_.resize(static_cast<std::size_t>(ranks()) * ranks());
  for (Rank u = 0; u < ranks(); ++u)
    for (Rank n = 0; n < ranks(); ++n)
      back_[static_cast<std::size_t>(u) * ranks() + group_[element_[u]][n]] = n;
}

// One search per set of sources, forwards for the distances; then ranks from the farthest to the nearest, so
// that what lies beyond a rank is known before the ranks that lead to it.
void QuotientInstance::find_distances() {
  std::map<RankSet, int> starts;
  for (const ChunkSpec& spec : collective_.chunks)
    start_.push_back(starts.try_emplace(spec.pre, static_cast<int>(starts.size())).first->second);
  std::vector<std::vector<Rank>> after(ranks());
  for (const Link& link : topology_.links) after[link.src].push_back(link.dst);
  distance_.assign(starts.size() * ranks(), kFar);
  beyond_.assign(starts.size() * ranks(), 0);
  for (const auto& [pre, start] : starts) {
    std::uint16_t* const distance = &distance_[static_cast<std::size_t>(start) * ranks()];
    std::uint16_t* const beyond = &beyond_[static_cast<std::size_t>(start) * ranks()];
    std::vector<Rank> order(pre.begin(), pre.end());
    for (Rank n : pre) distance[n] = 0;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (Rank n : after[order[i]])
        if (distance[n] == kFar) {
          distance[n] = static_cast<std::uint16_t>(distance[order[i]] + 1);
          order.push_back(n);
        }
    for (auto n = order.rbegin(); n != order.rend(); ++n)
      for (Rank m : after[*n])
        if (distance[m] == distance[*n] + 1)
          beyond[*n] = std::max<std::uint16_t>(beyond[*n], static_cast<std::uint16_t>(beyond[m] + 1));
    farthest_ = std::max<int>(farthest_, distance[order.back()]);
  }
}

std::vector<std::vector<LinkId>> QuotientInstance::links_in() const {
  std::vector<std::vector<LinkId>> ways(representatives_.size());
  for (LinkId l = 0; l < static_cast<int>(topology_.links.size()); ++l)
    if (orbits_.entering(l) == l) ways[index_[topology_.links[l].dst]].push_back(l);
  return ways;
}

// A bin over which several representatives receive couples their choices, which a flow for each cannot see.
std::vector<bool> QuotientInstance::find_splits(const std::vector<std::vector<LinkId>>& ways) {
  std::vector<BinUse> uses(bins_.size());
  for (int i = 0; i < static_cast<int>(ways.size()); ++i)
    for (LinkId l : ways[i])
      for (const auto& [b, weight] : orbits_.shares(l)) {
        BinUse& use = uses[b];
        if (!use.links.empty() && (use.representative != i || use.weight != weight)) bins_[b].split = true;
        use.representative = i;
        use.weight = weight;
        use.links.push_back(l);
      }
  std::map<std::vector<LinkId>, int> narrowest;
  std::vector<bool> idle(bins_.size(), false);
  for (int b = 0; b < static_cast<int>(bins_.size()); ++b) {
    if (bins_[b].split) continue;
    const auto [at, fresh] = narrowest.try_emplace(uses[b].links, b);
    if (fresh) continue;
    const int other = at->second;
    const bool narrower = bins_[b].capacity * uses[other].weight < bins_[other].capacity * uses[b].weight;
    idle[narrower ? other : b] = true;
    if (narrower) at->second = b;
  }
  return idle;
}

// A bin that few of the links share is passed first, and one that all share last, so that the bins of
// different entries join behind each other.
std::vector<Entry> QuotientInstance::joined(const std::vector<LinkId>& into,
                                            const std::vector<bool>& idle) const {
  std::map<int, int> sharing;  // by bin: links of these
  for (LinkId l : into)
    for (const Entry::Passed& p : orbits_.shares(l)) ++sharing[p.bin];
  std::vector<Entry> entries;
  for (LinkId l : into) {
    std::vector<Entry::Passed> bins;
    for (const Entry::Passed& p : orbits_.shares(l))
      if (!idle[p.bin]) bins.push_back(p);
    std::ranges::sort(bins, {}, [&](const Entry::Passed& p) { return std::pair(sharing[p.bin], p.bin); });
    const auto same = std::ranges::find(entries, bins, &Entry::bins);
    if (same != entries.end())
      same->links.push_back(l);
    else
      entries.push_back({.links = {l}, .bins = bins});
  }
  return entries;
}

// What follows a bin is the same on all paths through it: paths then are a tree towards the sink.
bool QuotientInstance::nested(const std::vector<Entry>& entries) const {
  std::map<int, std::vector<Entry::Passed>> rest;
  for (const Entry& entry : entries)
    for (auto p = entry.bins.begin(); p != entry.bins.end(); ++p) {
      const std::vector<Entry::Passed> after(p + 1, entry.bins.end());
      if (bins_[p->bin].split || rest.try_emplace(p->bin, after).first->second != after) return false;
    }
  return true;
}

// An element moves a chunk as it moves the rank that the chunk starts at (an Allgather: chunk / copies), and
// the link as its ends.
Step QuotientInstance::carried_over(const std::vector<Pick>& picks) const {
  const int copies = collective_.chunks_per_block;
  Step step;
  step.sends.reserve(picks.size() * group_.size());
  for (const Pick& pick : picks)
    if (order() == 1)
      step.sends.push_back({.chunk = pick.chunk, .link = pick.link});
    else
      for (int g = 0; g < order(); ++g)
        step.sends.push_back({.chunk = group_[g][pick.chunk / copies] * copies + pick.chunk % copies,
                              .link = orbits_.image(pick.link, g)});
  std::ranges::sort(step.sends);
  step.rounds = needed_rounds(topology_, step);
  return step;
}

// What ranks start with they have since step 0, before the first step.
Holdings::Holdings(const QuotientInstance& quotient)
    : quotient_(&quotient), since_(quotient.representatives().size() * quotient.chunks(), kMissing) {
  for (std::size_t i = 0; i < quotient.representatives().size(); ++i)
    for (Chunk c = 0; c < quotient.chunks(); ++c) {
      const ChunkSpec& spec = quotient.collective().chunks[c];
      if (starts_at(spec, quotient.representatives()[i]))
        since_[i * quotient.chunks() + c] = 0;
      else
        ++missing_;
    }
}

// Two nodes a bin, with its capacity between them. Where bins are nested (QuotientInstance::is_separate) a
// flow is what fits; where they are not, or weigh their links differently, more may flow than fits, and the
// caller must count again.

int ReceiverNetwork::nodes(const QuotientInstance& quotient, int representative) {
  std::set<int> bins;
  for (const Entry& entry : quotient.entries(representative))
    for (const Entry::Passed& p : entry.bins) bins.insert(p.bin);
  return 2 * static_cast<int>(bins.size());
}

// Entries with the same bins share their nodes: an arc is added once for each pair of bins that follow each
// other. Bins with the fewest links into the representative come first, so paths join towards the sink.
ReceiverNetwork::ReceiverNetwork(const QuotientInstance& quotient, int representative, MaxFlow& flow,
                                 int first, int sink)
    : quotient_(quotient) {
  std::map<int, std::size_t> neck_of;  // by bin
  std::set<std::pair<int, int>> joined;
  const auto entrance = [&](std::size_t neck) { return first + 2 * static_cast<int>(neck); };
  for (const Entry& entry : quotient.entries(representative)) {
    std::vector<std::size_t> way;
    for (const Entry::Passed& p : entry.bins) {
      const auto [at, fresh] = neck_of.try_emplace(p.bin, necks_.size());
      if (fresh) {
        const int node = entrance(at->second);
        necks_.push_back({.bin = p.bin, .weight = p.weight, .arc = flow.add_arc(node, node + 1, 0)});
      }
      necks_[at->second].weight = std::min(necks_[at->second].weight, p.weight);
      way.push_back(at->second);
    }
    for (std::size_t k = 0; k < way.size(); ++k) {
      const int from = entrance(way[k]) + 1, to = k + 1 < way.size() ? entrance(way[k + 1]) : sink;
      if (joined.insert({from, to}).second) flow.add_arc(from, to, MaxFlow::kUnbounded);
    }
    node_of_.push_back(entrance(way.front()));
  }
}

// A chunk takes `weight` of the bin; where weights of its links differ, the least of them, so that no flow
// that fits is refused.
long long ReceiverNetwork::room(const Neck& neck, long long rounds) const {
  return quotient_.bins()[neck.bin].capacity * rounds / neck.weight;
}

void ReceiverNetwork::set(MaxFlow& flow, long long rounds) const {
  for (const Neck& neck : necks_) flow.set_capacity(neck.arc, room(neck, rounds));
}

void ReceiverNetwork::widen(MaxFlow& flow, long long rounds) const {
  for (const Neck& neck : necks_) flow.widen(neck.arc, room(neck, rounds));
}

}  // namespace chorale
