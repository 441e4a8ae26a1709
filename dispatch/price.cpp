// Loads are one array [step][out of rank | into rank | out of NIC | into NIC], so that adding a piece is a
// few additions: prices of several numbers of stages are found before any plan is written down. Integers of
// bytes until the end, so the price does not depend on the order of the pieces.
#include "dispatch/price.h"

#include <algorithm>
#include <utility>

namespace chorale {
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

// Three kinds of cuts, each of which all of its bytes have to cross: around a node, by its NICs; around a
// rank, by its link in the node and its NIC together; and around a rank within its node, by the link alone,
// since what stays in a node crosses no NIC.
double alltoallv_bound_us(const NodeLayout& layout, const TierRates& rates, const ByteCounts& counts) {
  std::vector<std::int64_t> node_out(layout.nodes()), node_in(layout.nodes());
  using OutAndIn = std::pair<std::int64_t, std::int64_t>;
  std::vector<OutAndIn> rank(layout.ranks()), inside(layout.ranks());  // inside: what stays in the node
  for (Rank src = 0; src < counts.ranks; ++src)
    for (Rank dst = 0; dst < counts.ranks; ++dst) {
      if (src == dst) continue;
      rank[src].first += counts.at(src, dst);
      rank[dst].second += counts.at(src, dst);
      if (layout.node[src] == layout.node[dst]) {
        inside[src].first += counts.at(src, dst);
        inside[dst].second += counts.at(src, dst);
        continue;
      }
      node_out[layout.node[src]] += counts.at(src, dst);
      node_in[layout.node[dst]] += counts.at(src, dst);
    }
  double bound = 0;
  for (int a = 0; a < layout.nodes(); ++a)
    if (!layout.nics_of[a].empty())
      bound = std::max(bound, static_cast<double>(std::max(node_out[a], node_in[a])) /
                                  (static_cast<double>(layout.nics_of[a].size()) * rates.nic_gbs));
  const auto longest = [](const std::vector<OutAndIn>& bytes) {
    std::int64_t most = 0;
    for (const auto& [out, in] : bytes) most = std::max({most, out, in});
    return static_cast<double>(most);
  };
  bound =
      std::max({bound, longest(rank) / (rates.node_gbs + rates.nic_gbs), longest(inside) / rates.node_gbs});
  return kPerGbs * bound;
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
