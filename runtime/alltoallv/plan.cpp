// What node a has for node b is a line of bytes, cut into equal shares of the NICs of a, and of those of b:
// so each NIC of a node carries an equal share of all that enters or leaves it, and the busiest has what the
// cut around its node demands. Bytes get their place on the line greedily: first those whose source and
// destination have the NICs of the place, which take no hop within a node; then those that take one; then the
// rest.
//
// A share is cut into stages, and stages overlap: while the NICs carry one, the next is gathered at its NICs,
// and the last one is handed on inside the nodes. Bytes that begin at their NIC are in the first stages, and
// those that end at theirs in the last, so that the pipeline neither fills nor drains for long. Of several
// numbers of stages the one with the least predicted time is taken: more stages cost latency.
//
// Permutations of nodes in stages (Birkhoff, as in FAST) would avoid that several nodes send to one at once;
// they take up to (n - 1)^2 + 1 stages, and networks that share links fairly lose little without.
#include "runtime/alltoallv/plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/alltoallv/price.h"

namespace chorale {
namespace {

constexpr std::int64_t kGrain = 64;    // bytes of a unit, which is not cut
constexpr double kNearEnough = 1.025;  // of the bound: nothing else is tried
constexpr double kMostOfBound = 0.8;
constexpr int kStages[] = {1, 2, 4, 8, 16, 32};
// Relative sizes of the first stages, and in reverse of the last ones: a pipeline fills and drains by small
// ones. Each is at most 1.5 times the one before it, so that its hops within nodes, which are faster, hide
// behind that one's on the NICs.
constexpr int kRamp[] = {2, 3, 4, 6, 8};

// A part of a line, between one rank that sends and one that receives, and what is carried there.
struct Share {
  Rank out = 0, in = 0;
  std::int64_t room = 0;  // bytes
  std::vector<AlltoallvPiece> pieces = {};
};

struct Demand {
  Rank src = 0, dst = 0;
  std::int64_t left = 0, offset = 0;
};

// By rank: whose link inside the node has no room for the bytes of others. What such a rank sends or receives
// takes its own NIC.
using FullRanks = std::vector<bool>;

// Where the shares of the node's ranks begin on a line of `all` bytes, and `all`: equal for each NIC, and
// among the ranks of a NIC. `turn` lets units that are left over go to each in turn. Ranks that are full have
// only their `own` of the line, by rank, and at most 1.5 times the mean: what else they have is passed on,
// since NICs are to be even. All ranks of the node have NICs of their own then.
std::vector<std::int64_t> shares_of(const NodeLayout& layout, int node, std::int64_t all, int turn,
                                    const FullRanks& full, const std::vector<std::int64_t>& own) {
  const std::vector<Rank>& ranks = layout.members[node];
  const auto cut = [&](std::int64_t begin, std::int64_t end, std::int64_t i, std::int64_t parts) {
    if (i == 0) return begin;
    if (i == parts) return end;
    const std::int64_t units = (end - begin) / kGrain;
    return begin + (units / parts * i + (units % parts * i + turn % parts) / parts) * kGrain;
  };
  if (std::ranges::any_of(ranks, [&](Rank r) { return !full.empty() && full[r]; })) {
    const auto own_share = [&](Rank r) { return std::min(own[r], all / std::ssize(ranks) * 3 / 2); };
    std::int64_t left = all, others = 0;
    for (const Rank r : ranks) full[r] ? left -= own_share(r) : ++others;
    std::vector<std::int64_t> begins = {0};
    std::int64_t i = 0;
    for (const Rank r : ranks) {
      begins.push_back(begins.back() +
                       (full[r] ? own_share(r) : cut(0, left, i + 1, others) - cut(0, left, i, others)));
      if (!full[r]) ++i;
    }
    begins.back() = all;
    return begins;
  }
  const auto nics = static_cast<std::int64_t>(layout.nics_of[node].size());
  std::vector<std::int64_t> begins;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t after = first;
    while (after < ranks.size() && layout.nic[ranks[after]] == layout.nic[ranks[first]]) ++after;
    const std::int64_t nic = layout.nic[ranks[first]] - layout.nics_of[node].front();
    const std::int64_t begin = cut(0, all, nic, nics), end = cut(0, all, nic + 1, nics);
    for (std::size_t i = first; i < after; ++i)
      begins.push_back(
          cut(begin, end, static_cast<std::int64_t>(i - first), static_cast<std::int64_t>(after - first)));
    first = after;
  }
  begins.push_back(all);
  return begins;
}

// As much as both have; a demand that is left over goes on at its offset.
void carry(Demand& demand, Share& share) {
  const std::int64_t bytes = std::min(demand.left, share.room);
  if (bytes == 0) return;
  share.pieces.push_back({.src = demand.src,
                          .dst = demand.dst,
                          .offset = demand.offset,
                          .bytes = bytes,
                          .out = share.out,
                          .in = share.in});
  demand.offset += bytes;
  demand.left -= bytes;
  share.room -= bytes;
}

// Hops before the NIC less those after it: pieces with few begin early.
int hops_ahead(const AlltoallvPiece& piece) {
  return (piece.src != piece.out ? 1 : 0) - (piece.dst != piece.in ? 1 : 0);
}

// From one node to another: shares with their pieces, in the order in which they are carried.
std::vector<Share> between(const NodeLayout& layout, const ByteCounts& counts, int a, int b,
                           const FullRanks& full) {
  std::vector<Demand> demands;
  std::int64_t all = 0;
  std::vector<std::int64_t> own(counts.ranks, 0);  // bytes of the line that it sends, or receives
  for (const Rank src : layout.members[a])
    for (const Rank dst : layout.members[b])
      if (counts.at(src, dst) > 0) {
        demands.push_back({.src = src, .dst = dst, .left = counts.at(src, dst)});
        all += counts.at(src, dst);
        own[src] += counts.at(src, dst);
        own[dst] += counts.at(src, dst);
      }
  if (all == 0) return {};
  const std::vector<std::int64_t> outs = shares_of(layout, a, all, a + b, full, own),
                                  ins = shares_of(layout, b, all, a + b, full, own);
  std::vector<Share> shares;
  for (std::size_t o = 0, i = 0; o + 1 < outs.size() && i + 1 < ins.size();) {
    const std::int64_t end = std::min(outs[o + 1], ins[i + 1]), room = end - std::max(outs[o], ins[i]);
    if (room > 0) shares.push_back({.out = layout.members[a][o], .in = layout.members[b][i], .room = room});
    const bool out_ends = outs[o + 1] == end, in_ends = ins[i + 1] == end;
    o += out_ends ? 1 : 0;
    i += in_ends ? 1 : 0;
  }
  const auto carry_where = [&](auto fits) {
    for (Demand& demand : demands)
      for (Share& share : shares)
        if (fits(demand, share)) carry(demand, share);
  };
  // From what takes no hop to what takes two: the first that fits takes the room.
  carry_where([](const Demand& d, const Share& s) { return d.src == s.out && d.dst == s.in; });
  if (!full.empty()) {  // their shares are for their own bytes
    carry_where(
        [&](const Demand& d, const Share& s) { return d.src == s.out && full[s.out] && !full[s.in]; });
    carry_where([&](const Demand& d, const Share& s) { return d.dst == s.in && full[s.in] && !full[s.out]; });
  }
  carry_where([](const Demand& d, const Share& s) { return d.src == s.out; });
  carry_where([](const Demand& d, const Share& s) { return d.dst == s.in; });
  carry_where([](const Demand&, const Share&) { return true; });
  for (Share& share : shares) std::ranges::stable_sort(share.pieces, {}, hops_ahead);
  return shares;
}

// Inside of nodes: a share per pair.
std::vector<Share> within(const NodeLayout& layout, const ByteCounts& counts) {
  std::vector<Share> shares;
  for (const std::vector<Rank>& ranks : layout.members)
    for (const Rank src : ranks)
      for (const Rank dst : ranks)
        if (src != dst && counts.at(src, dst) > 0)
          shares.push_back({.pieces = {{.src = src, .dst = dst, .bytes = counts.at(src, dst)}}});
  return shares;
}

// Where stages end, in parts of the last number.
std::vector<std::int64_t> stage_ends(int stages) {
  constexpr int ramp = static_cast<int>(std::size(kRamp));
  std::vector<std::int64_t> ends;
  std::int64_t end = 0;
  for (int s = 0; s < stages; ++s) ends.push_back(end += kRamp[std::min({s, stages - 1 - s, ramp - 1})]);
  return ends;
}

// Visits the parts of each share, one or more a stage.
template <class Visit>
void in_stages(const std::vector<Share>& shares, int stages, const Visit& visit) {
  const std::vector<std::int64_t> ends = stage_ends(stages);
  for (const Share& share : shares) {
    std::int64_t all = 0, done = 0;
    for (const AlltoallvPiece& piece : share.pieces) all += piece.bytes;
    const std::int64_t units = all / kGrain, parts = ends.back(), whole = units / parts, rest = units % parts;
    int stage = -1;
    std::int64_t end = 0;  // of the stage
    for (AlltoallvPiece piece : share.pieces)
      for (std::int64_t left = piece.bytes; left > 0; left -= piece.bytes) {
        while (end <= done) {
          ++stage;
          end = stage + 1 == stages ? all : (whole * ends[stage] + rest * ends[stage] / parts) * kGrain;
        }
        piece.bytes = std::min(left, end - done);
        piece.step = stage;
        visit(piece);
        done += piece.bytes;
        piece.offset += piece.bytes;
      }
  }
}

// Only prices are found out of each number of stages: the plans would take longer to write down than to find.
int best_stages(const NodeLayout& layout, const TierRates& rates, const std::vector<Share>& shares,
                double& least_us) {
  int best = 0, longer = 0;
  least_us = std::numeric_limits<double>::infinity();
  for (const int stages : kStages) {
    AlltoallvLoads loads(layout, stages + 2);
    in_stages(shares, stages, [&](const AlltoallvPiece& part) { loads.add(part); });
    const double us = loads.us(rates);
    // Two that take longer: latency grows, and little is left to hide. After one alone, three may hide more.
    if (us >= least_us && ++longer == 2) break;
    if (us >= least_us) continue;
    least_us = us;
    best = stages;
  }
  return best;
}

// By rank: is its traffic inside of its node most of the bound? Only in nodes in which each rank has a NIC of
// its own; empty where no rank is.
FullRanks full_ranks(const NodeLayout& layout, const TierRates& rates, const ByteCounts& counts,
                     double bound_us) {
  FullRanks full(counts.ranks, false);
  bool is_any = false;
  for (int a = 0; a < layout.nodes(); ++a) {
    if (layout.nics_of[a].size() != layout.members[a].size()) continue;
    for (const Rank r : layout.members[a]) {
      std::int64_t out = 0, in = 0;
      for (const Rank other : layout.members[a])
        if (other != r) {
          out += counts.at(r, other);
          in += counts.at(other, r);
        }
      full[r] = static_cast<double>(std::max(out, in)) > kMostOfBound * bound_us * rates.node_gbs * 1e3;
      is_any = is_any || full[r];
    }
  }
  return is_any ? full : FullRanks{};
}

}  // namespace

AlltoallvPlan direct_alltoallv(const TwoTiers& tiers, const ByteCounts& counts) {
  const NodeLayout layout(tiers);
  AlltoallvPlan plan{.ranks = counts.ranks, .steps = 3, .direct = true};
  for (Rank src = 0; src < counts.ranks; ++src)
    for (Rank dst = 0; dst < counts.ranks; ++dst) {
      if (src == dst || counts.at(src, dst) == 0) continue;
      const bool crosses = layout.node[src] != layout.node[dst];
      plan.pieces.push_back({.src = src,
                             .dst = dst,
                             .bytes = counts.at(src, dst),
                             .out = crosses ? src : -1,
                             .in = crosses ? dst : -1});
    }
  plan.us = plan.direct_us = alltoallv_us(layout, tiers.rates, plan);
  plan.bound_us = alltoallv_bound_us(layout, tiers.rates, counts);
  plan.nics = plan.direct_nics = nic_load(layout, plan);
  return plan;
}

AlltoallvPlan plan_alltoallv(const TwoTiers& tiers, const ByteCounts& counts) {
  const NodeLayout layout(tiers);
  AlltoallvPlan best = direct_alltoallv(tiers, counts);
  const double direct_us = best.us, bound_us = best.bound_us;
  const NicLoad direct_nics = best.nics;
  const auto take = [&](const FullRanks& full) {
    std::vector<Share> shares = within(layout, counts);
    for (int a = 0; a < layout.nodes(); ++a)
      for (int b = 0; b < layout.nodes(); ++b)
        if (a != b) std::ranges::move(between(layout, counts, a, b, full), std::back_inserter(shares));
    double us = 0;
    const int stages = best_stages(layout, tiers.rates, shares, us);
    if (us >= best.us) return;
    best = {.ranks = counts.ranks, .steps = stages + 2, .us = us};
    std::size_t uncut = 0;
    for (const Share& share : shares) uncut += share.pieces.size();
    best.pieces.reserve(uncut + shares.size() * static_cast<std::size_t>(stages - 1));
    in_stages(shares, stages, [&](const AlltoallvPiece& part) { best.pieces.push_back(part); });
  };
  take({});
  if (best.us > kNearEnough * bound_us)
    if (const FullRanks full = full_ranks(layout, tiers.rates, counts, bound_us); !full.empty()) take(full);
  best.direct_us = direct_us;
  best.bound_us = bound_us;
  best.direct_nics = direct_nics;
  best.nics = nic_load(layout, best);
  return best;
}

}  // namespace chorale
