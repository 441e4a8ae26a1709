// Loads are one array [step][out of rank | into rank | out of NIC | into NIC], so that adding a piece is a
// few additions: prices of several numbers of stages are found before any plan is written down. Integers of
// bytes until the end, so the price does not depend on the order of the pieces.
#include "runtime/alltoallv/price.h"

#include <algorithm>
#include <functional>

namespace chorale {

// Of n ranks of a node with k NICs, rank i has NIC i * k / n: consecutive ranks share one, as evenly as it
// goes. NICs are numbered through over all nodes. A node with fewer ranks than NICs uses one NIC per rank.
NodeLayout::NodeLayout(const TwoTiers& tiers) : node(tiers.node), nic(tiers.node.size()) {
  for (Rank n = 0; n < ranks(); ++n) {
    if (node[n] >= nodes()) members.resize(node[n] + 1);
    members[node[n]].push_back(n);
  }
  nics_of.resize(members.size());
  for (int a = 0; a < nodes(); ++a) {
    const int size = static_cast<int>(members[a].size());
    const int used = tiers.rates.nics > 0 ? std::min(tiers.rates.nics, size) : size;
    for (int i = 0; i < size; ++i)
      nic[members[a][i]] = nics + static_cast<int>(std::int64_t{i} * used / size);
    for (int i = 0; i < std::min(used, size); ++i) nics_of[a].push_back(nics++);
  }
}

namespace {

constexpr double kPerGbs = 1e-3;  // microseconds per byte of 1 GB/s

}  // namespace

AlltoallvLoads::AlltoallvLoads(const NodeLayout& layout, int steps)
    : layout_(layout),
      steps_(steps),
      ranks_(layout.ranks()),
      nics_(layout.nics),
      width_(2 * (ranks_ + nics_)),
      bytes_(static_cast<std::size_t>(steps) * width_) {}

// A hop from a rank to itself takes no step and loads nothing.
void AlltoallvLoads::within(Rank from, Rank to, int step, std::int64_t bytes) {
  if (from == to) return;
  of_step(step)[from] += bytes;
  of_step(step)[ranks_ + to] += bytes;
}

// A piece without NICs stays in its node and moves in the middle one of its three steps; others go to the NIC
// that sends them, over the network, and on to their rank.
void AlltoallvLoads::add(const AlltoallvPiece& piece) {
  if (piece.out < 0) return within(piece.src, piece.dst, piece.step + 1, piece.bytes);
  within(piece.src, piece.out, piece.step, piece.bytes);
  std::int64_t* const nics = of_step(piece.step + 1) + std::ptrdiff_t{2} * ranks_;
  nics[layout_.nic[piece.out]] += piece.bytes;
  nics[nics_ + layout_.nic[piece.in]] += piece.bytes;
  within(piece.in, piece.dst, piece.step + 2, piece.bytes);
}

// A step ends when its busiest rank and NIC have done: the alpha-beta model with one alpha a step.
double AlltoallvLoads::us(const TierRates& rates) const {
  double us = 0;
  for (int s = 0; s < steps_; ++s) {
    const auto step = bytes_.begin() + static_cast<std::ptrdiff_t>(s) * width_;
    const auto most = [&](int from, int until) {
      return from == until ? 0.0 : static_cast<double>(*std::max_element(step + from, step + until));
    };
    const double node = most(0, 2 * ranks_), nic = most(2 * ranks_, width_);
    if (node > 0 || nic > 0)
      us += rates.latency_us + kPerGbs * std::max(node / rates.node_gbs, nic / rates.nic_gbs);
  }
  return us;
}

double alltoallv_us(const NodeLayout& layout, const TierRates& rates, const AlltoallvPlan& plan) {
  AlltoallvLoads loads(layout, plan.steps);
  for (const AlltoallvPiece& piece : plan.pieces) loads.add(piece);
  return loads.us(rates);
}

// What no path avoids is carried by no more than it has: `bytes` that each cross a resource of `gbs`, and
// with them the first j of `more`, each of which crosses that or the links of its rank. The most over all j,
// in bytes per GB/s. Whichever ranks a set has, those with the most bytes make the bound as large.
double longest(std::int64_t bytes, double gbs, std::vector<std::int64_t> more, double node_gbs) {
  std::ranges::sort(more, std::greater<>());
  double most = static_cast<double>(bytes) / gbs;
  for (const std::int64_t of_rank : more) {
    bytes += of_rank;
    gbs += node_gbs;
    most = std::max(most, static_cast<double>(bytes) / gbs);
  }
  return most;
}

// docs/alltoallv.md proves it. Tried: sets of ranks in general (exact on 98 in place of 97 of 100 random
// questions, and the number of sets is exponential); bytes inside a node over its links alone, which is
// false: they may leave the node and come back where its NICs are idle.
double alltoallv_bound_us(const NodeLayout& layout, const TierRates& rates, const ByteCounts& counts) {
  struct Bytes {
    std::int64_t all = 0, inside = 0;  // inside: for ranks of the same node
  };
  std::vector<Bytes> out(layout.ranks()), in(layout.ranks());
  for (Rank src = 0; src < counts.ranks; ++src)
    for (Rank dst = 0; dst < counts.ranks; ++dst) {
      if (src == dst) continue;
      const std::int64_t bytes = counts.at(src, dst);
      const std::int64_t inside = layout.node[src] == layout.node[dst] ? bytes : 0;
      out[src].all += bytes;
      out[src].inside += inside;
      in[dst].all += bytes;
      in[dst].inside += inside;
    }
  double most = 0;
  for (int a = 0; a < layout.nodes(); ++a) {
    std::int64_t leaves = 0, enters = 0;
    std::vector<std::int64_t> sends, receives;
    for (const Rank r : layout.members[a]) {
      leaves += out[r].all - out[r].inside;
      enters += in[r].all - in[r].inside;
      sends.push_back(out[r].inside);
      receives.push_back(in[r].inside);
    }
    const double nics_gbs = static_cast<double>(layout.nics_of[a].size()) * rates.nic_gbs;
    for (const auto& inside : {sends, receives})
      most = std::max(most, longest(std::max(leaves, enters), nics_gbs, inside, rates.node_gbs));
    for (const int nic : layout.nics_of[a])
      for (const auto* const bytes : {&out, &in}) {
        std::vector<std::int64_t> all;
        for (const Rank r : layout.members[a])
          if (layout.nic[r] == nic) all.push_back((*bytes)[r].all);
        most = std::max(most, longest(0, rates.nic_gbs, all, rates.node_gbs));
      }
  }
  return most > 0 ? rates.latency_us + kPerGbs * most : 0;
}

// Means are of a node's NICs, in one direction: an uneven load between nodes is the demand's, not the plan's.
NicLoad nic_load(const NodeLayout& layout, const AlltoallvPlan& plan) {
  std::vector<std::int64_t> out(layout.nics), in(layout.nics);
  for (const AlltoallvPiece& piece : plan.pieces)
    if (piece.out >= 0) {
      out[layout.nic[piece.out]] += piece.bytes;
      in[layout.nic[piece.in]] += piece.bytes;
    }
  NicLoad load;
  for (const auto& bytes : {out, in})
    for (const std::vector<int>& nics : layout.nics_of) {
      std::int64_t most = 0, all = 0;
      for (const int nic : nics) {
        most = std::max(most, bytes[nic]);
        all += bytes[nic];
      }
      load.most_bytes = std::max(load.most_bytes, most);
      if (all > 0)
        load.most_over_mean =
            std::max(load.most_over_mean,
                     static_cast<double>(most) * static_cast<double>(nics.size()) / static_cast<double>(all));
    }
  return load;
}

}  // namespace chorale
