// Prices are exp(sharpness * (load / fullest - 1)) / capacity, free of scale; the maximum gets sharper only
// when a sweep gains little. A step goes as far toward the cheapest tree as the soft maximum falls. Of chunks
// with one target each that begin at the same ranks one search gives all the paths.
#include "construct/fractional_packing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace chorale {
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
  double most = 0;
  for (int b = 0; b < network_.bins(); ++b) most = std::max(most, load_[b] / network_.capacity(b));
  return most;
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

// A link of price 0 would be taken for nothing, so the least price is above it.
void FractionalPacking::reprice(double& mean) {
  set_prices(bin_prices_);
  network_.price_links(bin_prices_, prices_);
  mean = 0;
  for (double& price : prices_) {
    price = price * (1 + kJitter * (static_cast<double>(random_()) / 4294967296.0)) + 1e-12;
    mean += price;
  }
  mean /= static_cast<double>(prices_.size());
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

}  // namespace chorale
