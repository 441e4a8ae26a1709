// What is sent together: parts in equal chunks. A part far smaller than a chunk (norms, biases, scales beside
// experts) would take a whole one, or make all of them small; it travels with larger parts that only ranks
// with it hold, and that go to the ranks that lack it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "api/reshard.h"
#include "ir/error.h"

namespace chorale {
namespace {

// Chunks before the engine cuts them further: with 1,024 of 20 parts its schedules are 1.12 of the bound,
// since fewer copies of a packing follow each other; with 168 they are 1.001. Of each part so many, since
// those of stages of 16 and of 15 layers need 16 and 15; of some thousand parts fewer.
constexpr std::int64_t kEnoughChunks = 256, kChunksOfPart = 16, kManyChunks = 8192;
constexpr int kMostSizesTried = 64, kMostCutsTried = 32;
constexpr double kLittleWaste = 0.002;    // of all bytes: fewer chunks are worth it
constexpr double kFloorChunks = 1 << 17;  // of all bytes, about

// The ranks that want the part and do not hold it.
RankSet lacking(const ReshardPart& part) {
  std::vector<Rank> ranks;
  std::ranges::set_difference(part.wanted, part.holders, std::back_inserter(ranks));
  return ranks;
}

// A chunk of it would be padding for more than half.
bool is_little(double bytes, double chunk_bytes) {
  return bytes < chunk_bytes / 2;
}
// Rounded up, but not by a rounding error of a part that is a multiple.
double chunks_of(double bytes, double chunk_bytes) {
  return std::ceil(bytes / chunk_bytes * (1 - 1e-9));
}

// A whole fraction of some part, that leaves little unused: bytes of padding, and of what travels with
// others. The largest parts are cut into 1 to kMostCutsTried; a size below the best so far must save
// kLittleWaste of all bytes, since more chunks make schedules worse.
double chunk_size(const std::vector<ReshardPart>& moved) {
  std::set<double, std::greater<>> sizes;
  for (const ReshardPart& part : moved) sizes.insert(part.bytes);
  double all = 0, best = *sizes.begin(), least = -1;
  for (const ReshardPart& part : moved) all += part.bytes;
  const auto most = static_cast<double>(
      std::max({kEnoughChunks, std::min(kChunksOfPart * std::ssize(moved), kManyChunks), std::ssize(moved)}));
  int tried = 0;
  for (const double size : sizes) {
    if (++tried > kMostSizesTried) break;
    for (int cuts = 1; cuts <= kMostCutsTried; ++cuts) {
      const double bytes = size / cuts;
      double chunks = 0, waste = 0;
      for (const ReshardPart& part : moved) {
        const double own = is_little(part.bytes, bytes) ? 0 : chunks_of(part.bytes, bytes);
        chunks += own;
        waste += std::abs(own * bytes - part.bytes);
      }
      if (chunks > most) break;
      if (least >= 0 && waste >= least - (bytes < best ? kLittleWaste * all : 0)) continue;
      least = waste;
      best = bytes;
    }
  }
  return best;
}

// The j-th of n pieces, along the longest dimension.
Box piece_of(Box box, int j, int n) {
  const auto longest =
      std::ranges::max_element(box, {}, [](const auto& side) { return side.second - side.first; });
  const auto [from, to] = *longest;
  *longest = {from + (to - from) * j / n, from + (to - from) * (j + 1) / n};
  return box;
}

// Large parts are bundles, each in chunks of about `chunk_bytes`; then little parts are put on those that go
// to the ranks which lack them.
class Bundling {
 public:
  Bundling(const ReshardQuestion& question, double chunk_bytes)
      : question_(question), chunk_bytes_(chunk_bytes) {}

  std::vector<ReshardPart> run(const std::vector<ReshardPart>& moved) {
    for (const ReshardPart& part : moved)
      if (!is_little(part.bytes, chunk_bytes_)) {
        by_wanted_[lacking(part)].push_back(static_cast<int>(bundles_.size()));
        bundles_.push_back(part);
        bundles_.back().chunks = static_cast<int>(chunks_of(part.bytes, chunk_bytes_));
      }
    for (const ReshardPart& part : moved)
      if (is_little(part.bytes, chunk_bytes_)) share_out(part);
    return std::move(bundles_);
  }

 private:
  // Among the bundles that go to most of the ranks that lack it, until none does; what is left goes by
  // itself.
  void share_out(ReshardPart part) {
    const RankSet missing = lacking(part);
    std::vector<Rank> left(missing.begin(), missing.end());
    const auto reached = [&](const RankSet& ranks) {
      return std::ranges::count_if(left, [&](Rank r) { return ranks.contains(r); });
    };
    while (!left.empty()) {
      const RankSet* best = nullptr;
      std::vector<int> carriers;
      for (const auto& [ranks, bundles] : by_wanted_) {
        if (reached(ranks) <= (best != nullptr ? reached(*best) : 0)) continue;
        std::vector<int> able;
        std::ranges::copy_if(bundles, std::back_inserter(able),
                             [&](int b) { return std::ranges::includes(part.holders, bundles_[b].holders); });
        if (able.empty()) continue;
        best = &ranks;
        carriers = std::move(able);
      }
      if (best == nullptr) break;
      put_on(carriers, part);
      std::erase_if(left, [&](Rank r) { return best->contains(r); });
    }
    std::vector<Rank> stay;  // of those that want it: they hold it
    std::ranges::set_intersection(part.wanted, part.holders, std::back_inserter(stay));
    if (left.empty() && stay.empty()) return;
    if (left.empty()) part.wanted = stay;
    part.chunks = left.empty() ? 0 : 1;
    bundles_.push_back(std::move(part));
  }

  // Each region is cut evenly over the carriers. Their numbers of chunks stay, so their chunks become longer.
  void put_on(const std::vector<int>& carriers, const ReshardPart& part) {
    const int n = static_cast<int>(carriers.size());
    for (const ReshardPart::Region& region : part.regions)
      for (int j = 0; j < n; ++j) {
        const ReshardPart::Region own = {region.tensor, piece_of(region.box, j, n)};
        if (bytes_of(question_, own) == 0) continue;
        bundles_[carriers[j]].regions.push_back(own);
        bundles_[carriers[j]].bytes += bytes_of(question_, own);
      }
  }

  const ReshardQuestion& question_;
  const double chunk_bytes_;
  std::vector<ReshardPart> bundles_ = {};
  std::map<RankSet, std::vector<int>> by_wanted_ = {};  // that lack it
};

// Chunks of each, one after the other. A chunk is at one position in the inputs of all its holders, the first
// that is free in each of them, and likewise in the outputs.
Collective collective_of(std::vector<ReshardPart>& bundles, int ranks) {
  Collective collective{.kind = CollectiveKind::Custom, .custom_name = "reshard", .ranks = ranks};
  std::vector<int> inputs(ranks, 0), outputs(ranks, 0);
  for (ReshardPart& bundle : bundles) {
    const RankSet missing = lacking(bundle);
    bundle.first_chunk = bundle.chunks > 0 ? static_cast<int>(collective.chunks.size()) : 0;
    for (int c = 0; c < bundle.chunks; ++c) {
      ChunkSpec chunk{.pre = bundle.holders, .post = missing};
      for (const Rank r : chunk.pre) chunk.input = std::max(chunk.input, inputs[r]);
      for (const Rank r : chunk.post) chunk.output = std::max(chunk.output, outputs[r]);
      for (const Rank r : chunk.pre) inputs[r] = chunk.input + 1;
      for (const Rank r : chunk.post) outputs[r] = chunk.output + 1;
      collective.chunks.push_back(std::move(chunk));
    }
  }
  return collective;
}

}  // namespace

ReshardDemand reshard_demand(const ReshardQuestion& question, int ranks) {
  for (const RankSet& all : {holders_of(question), receivers_of(question)})
    for (const Rank rank : all)
      if (rank >= ranks)
        throw InputError("reshard", fmt::format("rank {}: the machine has {} ranks", rank, ranks),
                         "give ranks of the machine");
  ReshardDemand demand{.parts = reshard_parts(question)};
  std::vector<ReshardPart> moved, kept;
  std::int64_t unit = 0;
  double all = 0;
  for (const ReshardPart& part : demand.parts) {
    const auto missing = std::ssize(lacking(part));
    (missing > 0 ? moved : kept).push_back(part);
    if (missing == 0) continue;
    unit = std::gcd(unit, static_cast<std::int64_t>(part.bytes));
    all += part.bytes;
    demand.bytes += part.bytes * static_cast<double>(missing);
  }
  if (moved.empty())
    throw InputError("reshard", "nothing has to move: every rank holds what it needs", "give other layouts");
  // Where the greatest common divisor makes few chunks of all parts, nothing is padded.
  const bool whole = all <= static_cast<double>(unit) * kEnoughChunks;
  demand.bundles = Bundling(question, whole ? static_cast<double>(unit) : chunk_size(moved)).run(moved);
  for (const ReshardPart& bundle : demand.bundles)
    if (bundle.chunks > 0) demand.chunk_bytes = std::max(demand.chunk_bytes, bundle.bytes / bundle.chunks);
  std::ranges::move(kept, std::back_inserter(demand.bundles));
  demand.collective = collective_of(demand.bundles, ranks);
  return demand;
}

ReshardDemand of_whole_parts(ReshardDemand demand) {
  demand.bundles = demand.parts;
  demand.chunk_bytes = 0;
  for (ReshardPart& part : demand.bundles) {
    part.chunks = lacking(part).empty() ? 0 : 1;
    if (part.chunks > 0) demand.chunk_bytes = std::max(demand.chunk_bytes, part.bytes);
  }
  demand.collective = collective_of(demand.bundles, demand.collective.ranks);
  return demand;
}

// Rounded down: the floor demands no more than the parts do, and with some 2^17 chunks little less.
ReshardFloor reshard_floor(const ReshardDemand& demand) {
  ReshardFloor floor;
  std::vector<ReshardPart> parts = demand.parts;
  for (const ReshardPart& part : parts)
    floor.chunk_bytes += lacking(part).empty() ? 0 : part.bytes / kFloorChunks;
  for (ReshardPart& part : parts)
    part.chunks = lacking(part).empty() ? 0 : static_cast<int>(part.bytes / floor.chunk_bytes * (1 + 1e-12));
  floor.collective = collective_of(parts, demand.collective.ranks);
  return floor;
}

}  // namespace chorale
