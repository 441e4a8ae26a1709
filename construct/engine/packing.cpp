// Three passes. Drawing: for each chunk, of some trees drawn by their shares the one that keeps the loads of
// its class nearest to the mean of the shares (vector balancing, as in order.cpp). Negotiation: chunks over
// full bins are grown again one by one, at prices that rise with the load and with what a bin has been over
// before. Shortening: deep trees are grown again where hops are expensive, and bins may not become fuller
// than the rounds allow.
//
// Negotiation aims at the least rounds first, and where that fails halfway between its aim and the best
// rounds known, from the best packing known. So the result is never worse than what was drawn.
#include "construct/engine/packing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace chorale {

// Prices are exp(sharpness * (load / fullest - 1)) / capacity, free of scale; the maximum gets sharper only
// when a sweep gains little. A step goes as far toward the cheapest tree as the soft maximum falls. Of chunks
// with one target each that begin at the same ranks one search gives all the paths.

namespace {

constexpr int kBlocks = 64;
constexpr double kSharper = 1.04, kSharpestMaximum = 2000;
constexpr double kLittle = 0.3;      // gained in a sweep, over the sharpness: then it is raised
constexpr int kMostSweepsIdle = 40;  // that gain less than kGain: all that there is to be had
constexpr double kGain = 2e-4;
constexpr double kJitter = 0.002;        // of prices, so that equal ones are not always taken in order
constexpr int kHalvings = 12;            // of the step
constexpr long long kOfPathShare = 100;  // work to move a share of one, which is mostly these

bool is_path(const ChunkClass& chunks) {
  return chunks.post.size() == 1;
}

// A link of price 0 would be taken for nothing, so the least price is above it.
void jitter(std::vector<double>& prices, std::mt19937& random) {
  for (double& price : prices)
    price = price * (1 + kJitter * (static_cast<double>(random()) / 4294967296.0)) + 1e-12;
}

// Of the fullest bin.
template <typename Loads>
double fullest_of(const Network& network, const Loads& load) {
  double most = 0;
  for (int b = 0; b < network.bins(); ++b)
    most = std::max(most, static_cast<double>(load[b]) / network.capacity(b));
  return most;
}

}  // namespace

// order_ lists runs of blocks. Paths of copies from the same ranks are one run, since one search serves all
// of them; each block of other classes is a run of its own.
FractionalPacking::FractionalPacking(const Network& network, const std::vector<ChunkClass>& classes, bool sum,
                                     int each)
    : network_(network),
      classes_(classes),
      sum_(sum),
      trees_(network),
      load_(network.bins(), 0),
      bin_prices_(network.bins(), 0),
      prices_(network.links(), 0),
      delta_(network.bins(), 0) {
  for (int k = 0; k < std::ssize(classes); ++k) {
    const bool together = !sum && is_path(classes[k]);
    if (!together || k == 0 || !is_path(classes[k - 1]) || classes[k].pre != classes[k - 1].pre)
      order_.push_back(static_cast<int>(blocks_.size()));
    for (int i = 0; i < each; ++i) {
      if (i > 0 && !together) order_.push_back(static_cast<int>(blocks_.size()));
      blocks_.push_back({.of = k, .chunks = static_cast<double>(classes[k].count()) / each});
    }
  }
}

int FractionalPacking::blocks_of_class(const std::vector<ChunkClass>& classes) {
  return std::max(1, kBlocks / std::max(1, static_cast<int>(classes.size())));
}

double FractionalPacking::fullest() const {
  return fullest_of(network_, load_);
}

// Capacities times prices add up to 1. So prices are a dual solution: no packing has fewer rounds than the
// cheapest trees of all its chunks cost together.
void FractionalPacking::set_prices(std::vector<double>& bins) const {
  const double most = std::max(1e-12, fullest());
  double sum = 0;
  for (int b = 0; b < network_.bins(); ++b)
    sum += bins[b] = std::exp(sharpness_ * (load_[b] / network_.capacity(b) / most - 1));
  for (int b = 0; b < network_.bins(); ++b) bins[b] /= network_.capacity(b) * sum;
}

std::vector<double> FractionalPacking::bin_prices() const {
  std::vector<double> prices(network_.bins());
  set_prices(prices);
  return prices;
}

void FractionalPacking::reprice(double& mean) {
  set_prices(bin_prices_);
  network_.price_links(bin_prices_, prices_);
  jitter(prices_, random_);
  mean = std::accumulate(prices_.begin(), prices_.end(), 0.0) / static_cast<double>(prices_.size());
}

void FractionalPacking::add(const ChunkTree& tree, double chunks) {
  for (const LinkId l : tree.links)
    for (const int b : network_.bins_of(l)) {
      if (delta_[b] == 0) changed_.push_back(b);
      delta_[b] += chunks;
      if (delta_[b] == 0) delta_[b] = 1e-300;  // still to be seen as touched
    }
}

// How far along delta_ the soft maximum falls, by halving. The sum of exponentials is convex along delta_, so
// its slope rises and has one zero. Exponents are cut off where they would overflow.
double FractionalPacking::best_step() {
  const double most = std::max(1e-12, fullest());
  const auto slope = [&](double step) {
    double sum = 0;
    for (const int b : changed_) {
      const double by = delta_[b] / network_.capacity(b);
      sum += by * std::exp(std::min(300.0,
                                    sharpness_ * ((load_[b] / network_.capacity(b) + step * by) / most - 1)));
    }
    return sum;
  };
  if (slope(0) >= 0) return 0;
  if (slope(1) <= 0) return 1;
  double low = 0, high = 1;
  for (int i = 0; i < kHalvings; ++i) (slope((low + high) / 2) < 0 ? low : high) = (low + high) / 2;
  return low;
}

double FractionalPacking::cost(const ChunkTree& tree) const {
  double sum = 0;
  for (const LinkId l : tree.links) sum += prices_[l];
  return sum;
}

// From the most expensive tree of the block to this one. Weight comes from one tree and not from all alike,
// as in the plain method, so that trees which have become expensive disappear (pairwise steps of Frank and
// Wolfe's method: Lacoste-Julien and Jaggi 2015).
void FractionalPacking::move(Block& block, const ChunkTree& tree) {
  std::vector<Share>& shares = block.shares;
  for (const int b : changed_) delta_[b] = 0;
  changed_.clear();
  if (shares.empty()) {
    add(tree, block.chunks);
    for (const int b : changed_) load_[b] += delta_[b];
    shares.push_back({.chunks = 1, .tree = tree});
    return;
  }
  std::size_t most_expensive = 0;
  double most = -1;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double cost = this->cost(shares[i].tree);
    if (cost <= most) continue;
    most = cost;
    most_expensive = i;
  }
  if (cost(tree) >= most) return;
  const double share = shares[most_expensive].chunks;
  add(tree, share * block.chunks);
  add(shares[most_expensive].tree, -share * block.chunks);
  const double step = best_step();
  if (step <= 1e-6) return;
  for (const int b : changed_) load_[b] += step * delta_[b];
  const auto known =
      std::ranges::find_if(shares, [&](const Share& other) { return other.tree.links == tree.links; });
  if (known != shares.end())
    known->chunks += step * share;
  else
    shares.push_back({.chunks = step * share, .tree = tree});
  if (step >= 1)
    shares.erase(shares.begin() + static_cast<std::ptrdiff_t>(most_expensive));
  else
    shares[most_expensive].chunks -= step * share;
}

// Each run once, in random order. Prices are renewed before each, so that it answers to what those before it
// have done. False: the effort has ended, or a target cannot be reached.
bool FractionalPacking::sweep(double hop, WorkBudget& effort) {
  std::vector<int> runs(order_.size());
  std::iota(runs.begin(), runs.end(), 0);
  for (std::size_t i = runs.size(); i > 1; --i) std::swap(runs[i - 1], runs[random_() % i]);
  ChunkTree tree;
  for (const int run : runs) {
    const int first = order_[run];
    const int last = run + 1 < std::ssize(order_) ? order_[run + 1] : static_cast<int>(blocks_.size());
    if (!effort.affords(1)) return false;
    double mean = 0;
    reprice(mean);
    const long long before = trees_.relaxations();
    const ChunkClass& chunks = classes_[blocks_[first].of];
    const bool paths = !sum_ && is_path(chunks);
    if (paths) trees_.search_paths(chunks.pre, prices_, hop * mean);
    for (int k = first; k < last; ++k) {
      const ChunkClass& own = classes_[blocks_[k].of];
      if (paths ? !trees_.path(own.post.front(), tree)
                : trees_.grow(own, sum_, prices_, hop * mean, random_, tree) < 0)
        return false;
      move(blocks_[k], tree);
      effort.spend(paths ? kOfPathShare : std::ssize(tree.links));
    }
    effort.spend(trees_.relaxations() - before + 2LL * network_.bins());
  }
  return true;
}

// A maximum that is too sharp lets only tiny steps through. So it is sharpened when a sweep at the present
// one gains little, measured by the distance between it and the true maximum, which falls as 1 / sharpness.
bool FractionalPacking::improve(double target, double near, double hop, WorkBudget& effort) {
  const bool first = blocks_.empty() || blocks_.back().shares.empty();
  double before = first ? std::numeric_limits<double>::infinity() : fullest(), best = before;
  for (int idle = 0; idle < kMostSweepsIdle && sharpness_ < kSharpestMaximum;) {
    if (before <= target * (1 + near)) return true;
    if (!sweep(hop, effort))
      return std::ranges::all_of(blocks_, [](const Block& block) { return !block.shares.empty(); });
    const double now = fullest();
    idle = now < best * (1 - kGain) ? 0 : idle + 1;
    best = std::min(best, now);
    if (now > before * (1 - kLittle / sharpness_)) sharpness_ *= kSharper;
    before = now;
  }
  return true;
}

// Blocks of a class may have equal trees, which are not joined: draws from the shares are the same.
std::vector<std::vector<FractionalPacking::Share>> FractionalPacking::shares() const {
  std::vector<std::vector<Share>> all(classes_.size());
  for (const Block& block : blocks_)
    for (const Share& share : block.shares)
      all[block.of].push_back({.chunks = share.chunks * block.chunks, .tree = share.tree});
  return all;
}

namespace {

constexpr int kDrawn = 24;              // trees examined for each chunk
constexpr int kRoundingPatience = 300;  // iterations without a smaller excess
constexpr double kFirstPressure = 24, kMostRoundingPressure = 120, kMoreRoundingPressure = 1.05;
constexpr double kHistoryOfBin = 0.1, kHistoryOfExcess = 3;
// Lower prices of depth alone let repaired trees become deep, 34 to 52 hops where 10 do; higher ones alone
// leave more rounds (AllReduce on a random graph of 40 ranks, 192 chunks: 68 for 64, and 66 with a tenth).
constexpr double kLeastHop = 0.3;
constexpr double kMostOfMean = 5e5;  // what a price counts for the mean that a hop's price is measured by

double mean_of(const std::vector<double>& prices) {
  double sum = 0;
  for (const double price : prices) sum += std::min(price, kMostOfMean);
  return sum / static_cast<double>(prices.size());
}

}  // namespace

long long needed_rounds(const Network& network, const ChunkPacking& packing) {
  std::vector<long long> load(network.bins(), 0);
  for (const std::vector<ChunkTree>& trees : packing.trees)
    for (const ChunkTree& tree : trees)
      for (const LinkId l : tree.links)
        for (const int b : network.bins_of(l)) ++load[b];
  return static_cast<long long>(std::ceil(fullest_of(network, load)));
}

Rounding::Rounding(const Network& network, const std::vector<ChunkClass>& classes, bool sum)
    : network_(network), classes_(classes), sum_(sum), trees_(network), bin_prices_(network.bins(), 0) {}

void Rounding::load(const ChunkTree& tree, int by) {
  for (const LinkId l : tree.links)
    for (const int b : network_.bins_of(l)) load_[b] += by;
}

long long Rounding::rounds() const {
  return static_cast<long long>(std::ceil(fullest_of(network_, load_)));
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

// The cheapest tree or path at the present prices.
bool Rounding::grow(Piece& piece, double hop, ChunkTree& tree, WorkBudget& effort) {
  const ChunkClass& chunks = classes_[piece.of];
  const long long before = trees_.relaxations();
  const double per_hop = hop * mean_of(prices_);
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
  ChunkPacking packing{.chunks = chunks, .trees = std::vector<std::vector<ChunkTree>>(classes_.size())};
  for (Piece& piece : pieces_) packing.trees[piece.of].push_back(std::move(piece.tree));
  pieces_.clear();
  return packing;
}

}  // namespace chorale
