// Fractions are packed twice: without a price of depth for the bound and the nearest rate, and then with one
// price after the other, from the highest, until the rate is within kLower of the nearest. Low trees are
// worth more than the last percent: they fill the pipe faster, and so need fewer steps and chunks. The first
// packing is a low one: where it meets the bound, nothing else is packed.
#include "construct/engine/packer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "construct/engine/jobs.h"
#include "construct/engine/solved_question.h"
#include "graph/automorphisms.h"

namespace chorale {
namespace {

constexpr double kHops[] = {1, 0.3, 0.1, 0.03};  // prices of a hop of depth, in mean prices of a link
constexpr double kLower = 0.012;                 // that lower trees may be over the nearest fractions
// And where as few chunks are packed, whose rounding loses more: on mi250:2 without a link trees of the
// nearest fractions are 43 hops deep, and an AllReduce of twice the bound took 77 steps, not 34.
constexpr double kLowOfFew = 0.1;
constexpr int kFew = 32;
constexpr long long kOfEachLink = 5;  // work of a tree
constexpr long long kLeastSweeps = 3;
constexpr long long kOfPath = 25;     // work; paths are near after few sweeps
constexpr long long kFirstTrees = 8;  // of a class: what has as many is worth rounding

}  // namespace

Commodities each_class(const Topology& topology, const Collective& one) {
  Commodities each{.network = Network(topology), .classes = {.representatives = moving_classes(one)}};
  for (int k = 0; k < std::ssize(each.classes.representatives); ++k)
    each.classes.images.push_back({{.of = k}});
  return each;
}

// A group carries classes to classes of the same size, or it is of no use: all chunks of an orbit then have
// one tree and its images, so a search is for one class and fills all links alike.
std::optional<Commodities> up_to_symmetry(const Commodities& each) {
  std::vector<std::vector<Rank>> group = free_symmetries(each.network.topology());
  if (group.size() == 1) return std::nullopt;
  std::optional<ClassOrbits> classes = class_orbits(each.classes.representatives, group);
  if (!classes) return std::nullopt;
  std::optional<Network> network = Network::up_to(each.network.topology(), std::move(group));
  if (!network) return std::nullopt;
  return Commodities{.network = std::move(*network), .classes = std::move(*classes)};
}

Packer::Packer(const Commodities& commodities, bool sum) : commodities_(commodities), sum_(sum) {}

long long Packer::sweep() const {
  const std::vector<ChunkClass>& classes = commodities_.classes.representatives;
  const auto trees = std::min<long long>(kFirstTrees, FractionalPacking::blocks_of_class(classes));
  const Network& network = commodities_.network;
  long long work = 0;
  for (std::size_t k = 0; k < classes.size(); ++k) {
    const bool path = !sum_ && classes[k].post.size() == 1;
    if (path) work += kOfPath;
    if (!path || k == 0 || classes[k].pre != classes[k - 1].pre)
      work += (path ? 1 : trees) * (network.links() + 2LL * network.bins());
  }
  return work;
}

// Fewer blocks where so much work would not get once around all.
FractionalPacking Packer::packing(long long work) const {
  const std::vector<ChunkClass>& classes = commodities_.classes.representatives;
  const Network& network = commodities_.network;
  const long long around = std::ssize(classes) * kOfEachLink * (network.links() + 2LL * network.bins());
  const int most = FractionalPacking::blocks_of_class(classes);
  return {network, classes, sum_,
          static_cast<int>(std::clamp<long long>(work / (kLeastSweeps * around), 1, most))};
}

void Packer::use(const FractionalPacking& packing, double hop) {
  rounds_ = rounds_ > 0 ? std::min(rounds_, rounds_of(packing)) : rounds_of(packing);
  shares_ = packing.shares();
  hop_ = hop;
}

// A third of the work is for low trees, a third for the nearest ones, a sixth for each price of depth after
// that; where it ends, or at a stop, there is what was found by then. Rounds are those of the nearest
// fractions even where lower trees are used.
void Packer::improve(double bound, bool first, long long work, const std::atomic<bool>* stop) {
  double low = std::numeric_limits<double>::infinity();
  if (first && bound > 0) {
    WorkBudget effort(work / 3, stop);
    FractionalPacking lowest = packing(work / 3);
    if (!lowest.improve(bound * unit(), kNearFraction, kHops[0], effort)) return;
    use(lowest, kHops[0]);
    low = rounds_of(lowest);
    settled_ = low <= bound * (1 + kNearFraction);
    if (settled_) return;
  }
  WorkBudget effort(work / 3, stop);
  FractionalPacking nearest = packing(work / 3);
  if (!nearest.improve(bound * unit(), kNearFraction, 0, effort)) return;
  settled_ = effort.affords(1);
  rounds_ = rounds_of(nearest);
  if (rounds_ > bound * (1 + kNearFraction)) prices_ = whole(nearest.bin_prices());
  const double aim = std::max(bound, rounds_);
  if (low <= aim * (1 + kLower)) return;
  use(nearest, 0);
  low_.clear();
  for (const double hop : kHops) {
    WorkBudget lower(work / 6, stop);
    FractionalPacking lowest = packing(work / 6);
    if (!lowest.improve(aim * unit(), kNearFraction, hop, lower)) return;
    if (rounds_of(lowest) <= aim * (1 + kLower)) return use(lowest, hop);
    if (low_.empty() && rounds_of(lowest) <= aim * (1 + kLowOfFew)) {
      low_ = lowest.shares();
      low_hop_ = hop;
    }
  }
}

void Packer::forget() {
  rounds_ = 0;
  shares_.clear();
  low_.clear();
  settled_ = false;
}

// In millionths of the highest: certificates have whole prices, and a price that is rounded still shows a
// bound.
Prices Packer::whole(const std::vector<double>& bins) const {
  const double unit = 1e6 / std::ranges::max(bins);
  const auto price = [&](int b) { return b < 0 ? 0 : static_cast<int>(std::lround(bins[b] * unit)); };
  const Network& network = commodities_.network;
  Prices prices;
  for (LinkId l = 0; l < network.links(); ++l) prices.links.push_back(price(network.own_bin(l)));
  for (int z = 0; z < std::ssize(network.topology().limits); ++z)
    prices.limits.push_back(price(network.bin_of_limit(z)));
  return prices;
}

ChunkPacking Packer::round(int chunks, long long least, WorkBudget& effort) const {
  const bool low = chunks / unit() <= kFew && !low_.empty();
  return Rounding(commodities_.network, commodities_.classes.representatives, sum_)
      .round(low ? low_ : shares_, chunks / unit(), least, low ? low_hop_ : hop_, effort);
}

}  // namespace chorale
