// Three passes. Drawing: for each chunk, of some trees drawn by their shares the one that keeps the loads of
// its class nearest to the mean of the shares (vector balancing, as in order.cpp). Negotiation: chunks over
// full bins are grown again one by one, at prices that rise with the load and with what a bin has been over
// before. Shortening: deep trees are grown again where hops are expensive, and bins may not become fuller
// than the rounds allow.
//
// Negotiation aims at the least rounds first, and where that fails halfway between its aim and the best
// rounds known, from the best packing known. So the result is never worse than what was drawn.
#include "construct/packing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace chorale {
namespace {

constexpr int kDrawn = 24;              // trees examined for each chunk
constexpr int kRoundingPatience = 300;  // iterations without a smaller excess
constexpr double kFirstPressure = 24, kMostRoundingPressure = 120, kMoreRoundingPressure = 1.05;
constexpr double kHistoryOfBin = 0.1, kHistoryOfExcess = 3;
// Lower prices of depth alone let repaired trees become deep, 34 to 52 hops where 10 do; higher ones alone
// leave more rounds (AllReduce on a random graph of 40 ranks, 192 chunks: 68 for 64, and 66 with a tenth).
constexpr double kLeastHop = 0.3;
constexpr double kHopToShorten = 1;
constexpr double kSlack = 0.005;      // of the rounds, which shallower trees may take
constexpr double kTooFull = 1e6;      // price of a bin without room
constexpr int kShorteningPasses = 2;  // over all chunks, to shorten them

// Of equal prices the first link would win always.
void jitter(std::vector<double>& prices, std::mt19937& random) {
  for (double& price : prices)
    price = price * (1 + 0.002 * (static_cast<double>(random()) / 4294967296.0)) + 1e-12;
}

double mean_of(const std::vector<double>& prices, double most) {
  double sum = 0;
  for (const double price : prices) sum += std::min(price, most);
  return sum / static_cast<double>(prices.size());
}

}  // namespace

// Links are in an order in which each comes after those into its source, so one pass finds all depths.
int depth(const Network& network, const ChunkTree& tree) {
  // By rank, over few of them: trees are small beside machines only in path classes, and there links are few.
  std::vector<std::pair<Rank, int>> at;
  const auto of = [&](Rank n) -> int& {
    for (auto& [rank, depth] : at)
      if (rank == n) return depth;
    return at.emplace_back(n, 0).second;
  };
  if (tree.links.size() < 8) {
    int most = 0;
    for (int i = 0; i < std::ssize(tree.links); ++i) {
      const int from = of(network.src(tree.links[i]));
      int& to = of(network.dst(tree.links[i]));
      to = std::max(to, from + 1);
      most = std::max(most, to);
    }
    return most;
  }
  std::vector<int> depth(network.ranks(), 0);
  int most = 0;
  for (const LinkId l : tree.links) {
    // A copy comes when its one link is through, a sum when the last is.
    int& to = depth[network.dst(l)];
    to = std::max(to, depth[network.src(l)] + 1);
    most = std::max(most, to);
  }
  return most;
}

long long needed_rounds(const Network& network, const ChunkPacking& packing) {
  std::vector<long long> load(network.bins(), 0);
  for (const std::vector<ChunkTree>& trees : packing.trees)
    for (const ChunkTree& tree : trees)
      for (const LinkId l : tree.links)
        for (const int b : network.bins_of(l)) ++load[b];
  double most = 0;
  for (int b = 0; b < network.bins(); ++b)
    most = std::max(most, std::ceil(static_cast<double>(load[b]) / network.capacity(b)));
  return static_cast<long long>(most);
}

Rounding::Rounding(const Network& network, const std::vector<ChunkClass>& classes, bool sum)
    : network_(network), classes_(classes), sum_(sum), trees_(network), bin_prices_(network.bins(), 0) {}

void Rounding::load(const ChunkTree& tree, int by) {
  for (const LinkId l : tree.links)
    for (const int b : network_.bins_of(l)) load_[b] += by;
}

long long Rounding::rounds() const {
  double most = 0;
  for (int b = 0; b < network_.bins(); ++b)
    most = std::max(most, std::ceil(static_cast<double>(load_[b]) / network_.capacity(b)));
  return static_cast<long long>(most);
}

// Of some trees, drawn by their shares, the one that keeps loads most even: `off` has, by bin, what the class
// loads it with so far less what its shares do on average, and the least growth of its squares wins.
void Rounding::draw(const std::vector<std::vector<FractionalPacking::Share>>& shares, int chunks) {
  pieces_.clear();
  load_.assign(network_.bins(), 0);
  std::vector<double> off(network_.bins(), 0), mean(network_.bins(), 0);
  std::vector<int> touched;  // bins of the class
  for (int k = 0; k < std::ssize(classes_); ++k) {
    std::vector<double> until;  // sums of the shares
    double all = 0;
    for (const FractionalPacking::Share& share : shares[k]) until.push_back(all += share.chunks);
    for (const int b : touched) mean[b] = 0;
    touched.clear();
    for (const FractionalPacking::Share& share : shares[k])
      for (const LinkId l : share.tree.links)
        for (const int b : network_.bins_of(l)) {
          if (mean[b] == 0) touched.push_back(b);
          mean[b] += share.chunks / all;
        }
    const long long wanted = classes_[k].count() * chunks;
    for (long long i = 0; i < wanted; ++i) {
      const ChunkTree* best = nullptr;
      double least = 0;
      for (int t = 0; t < std::min<int>(kDrawn, static_cast<int>(until.size())); ++t) {
        const double at = static_cast<double>(random_()) / 4294967296.0 * all;
        const auto place = std::min<std::ptrdiff_t>(std::ranges::upper_bound(until, at) - until.begin(),
                                                    std::ssize(until) - 1);
        const ChunkTree& tree = shares[k][static_cast<std::size_t>(place)].tree;
        double sum = 0;
        for (const LinkId l : tree.links)
          for (const int b : network_.bins_of(l))
            sum += (2 * off[b] + 1) / (network_.capacity(b) * network_.capacity(b));
        if (best != nullptr && sum >= least) continue;
        least = sum;
        best = &tree;
      }
      pieces_.push_back({.of = k, .tree = *best});
      load(*best, 1);
      for (const LinkId l : best->links)
        for (const int b : network_.bins_of(l)) off[b] += 1;
      for (const int b : touched) off[b] -= mean[b];
    }
  }
}

bool Rounding::meets(const ChunkTree& tree, const std::vector<char>& bins) const {
  return std::ranges::any_of(tree.links, [&](LinkId l) {
    return std::ranges::any_of(network_.bins_of(l), [&](int b) { return bins[b] != 0; });
  });
}

// Exponential in how full a bin is with one more chunk, up to 1.5 times full; a bin that is over costs a
// constant more; all that times its history, and by capacity, so that wide and narrow links compare in
// rounds.
void Rounding::price(long long rounds, double pressure) {
  for (int b = 0; b < network_.bins(); ++b) {
    const double full =
        static_cast<double>(load_[b] + 1) / (static_cast<double>(rounds) * network_.capacity(b));
    const double over = full > 1 + 1e-9 ? 2 : 0;
    bin_prices_[b] =
        (std::exp(pressure * (std::min(full, 1.5) - 1)) + over) * (1 + history_[b]) / network_.capacity(b);
  }
  network_.price_links(bin_prices_, prices_);
  jitter(prices_, random_);
}

// The cheapest tree or path at the present prices. Closed bins (kTooFull) do not count for the mean that a
// hop's price is measured by.
bool Rounding::grow(Piece& piece, double hop, ChunkTree& tree, WorkBudget& effort) {
  const ChunkClass& chunks = classes_[piece.of];
  const long long before = trees_.relaxations();
  const double per_hop = hop * mean_of(prices_, kTooFull / 2);
  bool grown = false;
  if (!sum_ && chunks.post.size() == 1) {
    trees_.search_paths(chunks.pre, prices_, per_hop);
    grown = trees_.path(chunks.post.front(), tree);
  } else {
    grown = trees_.grow(chunks, sum_, prices_, per_hop, random_, tree) >= 0;
  }
  effort.spend(trees_.relaxations() - before + 2LL * network_.bins());
  return grown;
}

// An iteration grows about a quarter of the chunks over full bins again, and no more than twice the excess:
// the others keep their places, so that not all leave a bin at once. Prices of depth differ from chunk to
// chunk (kLeastHop).
bool Rounding::negotiate(long long rounds, double hop, WorkBudget& effort) {
  history_.assign(network_.bins(), 0);
  const double hops[] = {std::max(hop, kLeastHop), std::max(hop, kLeastHop) / 10,
                         hop < kLeastHop ? 0 : kLeastHop};
  double pressure = kFirstPressure;
  long long least = std::numeric_limits<long long>::max();
  for (int idle = 0; effort.affords(1);
       pressure = std::min(kMostRoundingPressure, pressure * kMoreRoundingPressure)) {
    std::vector<char> overloaded(network_.bins(), false);
    long long excess = 0;
    for (int b = 0; b < network_.bins(); ++b) {
      const auto most = static_cast<long long>(static_cast<double>(rounds) * network_.capacity(b));
      if (load_[b] <= most) continue;
      overloaded[b] = true;
      excess += load_[b] - most;
      history_[b] +=
          kHistoryOfBin + kHistoryOfExcess * static_cast<double>(load_[b] - most) / static_cast<double>(most);
    }
    if (excess == 0) return true;
    idle = excess < least ? 0 : idle + 1;
    least = std::min(least, excess);
    if (idle > kRoundingPatience) return false;
    std::vector<int> met;
    for (int i = 0; i < std::ssize(pieces_); ++i)
      if (meets(pieces_[i].tree, overloaded)) met.push_back(i);
    effort.spend(std::ssize(pieces_));
    for (std::size_t i = met.size(); i > 1; --i) std::swap(met[i - 1], met[random_() % i]);
    const auto most = std::max<long long>(4, std::min<long long>(std::ssize(met) / 4 + 1, 2 * excess + 1));
    for (int i = 0; i < std::min<long long>(most, std::ssize(met)) && effort.affords(1); ++i) {
      Piece& piece = pieces_[met[i]];
      load(piece.tree, -1);
      price(rounds, pressure);
      ChunkTree tree;
      if (grow(piece, hops[random_() % 3], tree, effort)) piece.tree = std::move(tree);
      load(piece.tree, 1);
    }
  }
  return false;
}

// Deep trees are grown again where hops cost something and full bins are closed; kept where they are
// shallower.
void Rounding::shorten(long long rounds, WorkBudget& effort) {
  std::vector<std::pair<int, int>> by_depth;
  for (int i = 0; i < std::ssize(pieces_); ++i) by_depth.push_back({depth(network_, pieces_[i].tree), i});
  ChunkTree tree;
  for (int pass = 0; pass < kShorteningPasses; ++pass) {
    std::ranges::sort(by_depth, std::greater<>());
    for (auto& [deep, i] : by_depth) {
      if (!effort.affords(1)) return;
      Piece& piece = pieces_[i];
      if (std::ssize(piece.tree.links) <= 1) continue;
      load(piece.tree, -1);
      for (int b = 0; b < network_.bins(); ++b) {
        const double room = static_cast<double>(rounds) * network_.capacity(b);
        const auto with = static_cast<double>(load_[b] + 1);
        bin_prices_[b] =
            with > room + 1e-9 ? kTooFull : std::exp(12 * (with / room - 1)) / network_.capacity(b);
      }
      network_.price_links(bin_prices_, prices_);
      jitter(prices_, random_);
      bool better = grow(piece, kHopToShorten, tree, effort);
      const int now = better ? depth(network_, tree) : deep;
      better = better && now < deep;
      if (better) {
        load(tree, 1);
        better = std::ranges::all_of(tree.links, [&](LinkId l) {
          return std::ranges::all_of(network_.bins_of(l), [&](int b) {
            return static_cast<double>(load_[b]) <= static_cast<double>(rounds) * network_.capacity(b);
          });
        });
        if (!better) load(tree, -1);
      }
      if (better) {
        std::swap(piece.tree, tree);
        deep = now;
      } else {
        load(piece.tree, 1);
      }
    }
  }
}

ChunkPacking Rounding::round(const std::vector<std::vector<FractionalPacking::Share>>& shares, int chunks,
                             long long least, double hop, WorkBudget& effort) {
  draw(shares, chunks);
  // The least first, then halfway to what is known.
  long long known = rounds();
  std::vector<Piece> best = pieces_;
  std::vector<long long> load = load_;
  for (long long aim = least; aim < known && effort.affords(1); aim = (aim + known + 1) / 2) {
    const bool fits = negotiate(aim, hop, effort);
    if (const long long now = rounds(); now < known) {
      known = now;
      best = pieces_;
      load = load_;
    }
    if (fits || aim >= known - 1) break;
    pieces_ = best;
    load_ = load;
  }
  pieces_ = std::move(best);
  load_ = std::move(load);
  shorten(known + static_cast<long long>(static_cast<double>(known) * kSlack), effort);
  ChunkPacking packing{.chunks = chunks, .trees = std::vector<std::vector<ChunkTree>>(classes_.size())};
  for (Piece& piece : pieces_) packing.trees[piece.of].push_back(std::move(piece.tree));
  pieces_.clear();
  return packing;
}

}  // namespace chorale
