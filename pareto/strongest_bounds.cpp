// The rate is the highest of what one chunk shows, and of trees at the prices of a quick packing. The latter
// may be higher only where chunks go to several ranks and not to all, sums have several destinations, or
// limits are shared: elsewhere cuts and flows are exact.
#include "pareto/strongest_bounds.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "bounds/check.h"
#include "construct/engine.h"
#include "construct/engine/packer.h"
#include "construct/engine/solved_question.h"
#include "ir/agreement.h"
#include "pareto/optimality.h"

namespace chorale {
namespace {

constexpr long long kPackingWork = kEngineWork / 100;
// Chunks times ranks times links of a machine whose trees are weighed.
constexpr double kMostPacked = 3e6;

// Each contribution by itself, and then copies of the sum.
bool packed_as_copies(const Collective& one) {
  return one.kind == CollectiveKind::AllReduce && adds_once(one);
}

bool may_need_trees(const Topology& topology, const Collective& one) {
  const double size = static_cast<double>(one.chunks.size()) * topology.ranks *
                      static_cast<double>(topology.links.size()) *
                      (packed_as_copies(one) ? topology.ranks * topology.ranks : 1);
  if (topology.underlay || abilities_of(topology).any() || size > kMostPacked) return false;
  return !topology.limits.empty() || std::ranges::any_of(one.chunks, [&](const ChunkSpec& chunk) {
    const auto wanted =
        std::ranges::count_if(chunk.post, [&](Rank n) { return !std::ranges::binary_search(chunk.pre, n); });
    return (one.combining && chunk.post.size() > 1) ||
           (wanted > 1 && static_cast<int>(chunk.pre.size() + wanted) < topology.ranks);
  });
}

}  // namespace

class StrongestBounds::Search {
 public:
  Search(const Topology& topology, const Collective& one, const std::atomic<bool>* stop)
      : topology_(topology), one_(one), stop_(stop) {}

  const StepBound& steps(int chunks) { return of(chunks).fewest_steps(); }

  Claim too_few_steps() { return of_any_chunks(topology_, one_, of(1).fewest_steps().claim); }

  const Claim& rate() {
    if (rate_) return *rate_;
    rate_ = of_any_chunks(topology_, one_, of(1).fewest_rounds());
    if (rate_->certificate.kind == Certificate::Kind::None) rate_->rounds = 0;
    if (!stopped() && may_need_trees(topology_, one_)) weigh_trees();
    return *rate_;
  }

  Claim rounds(int chunks, int steps, int enough) {
    const bool is_enough = steps == kAnySteps || rounds_claimed(rate(), chunks) >= enough;
    const Claim claim = is_enough ? of(chunks).fewest_rounds() : of(chunks).fewest_rounds_in(steps, enough);
    const int by_rate = rounds_claimed(rate(), chunks);
    if (claim.rounds >= by_rate) return claim;
    Claim higher = rate();
    higher.any_chunks = false;
    higher.chunks = chunks;
    higher.rounds = by_rate;
    return higher;
  }

 private:
  bool stopped() const { return stop_ != nullptr && *stop_; }

  LowerBounds& of(int chunks) {
    const auto [at, fresh] = of_chunks_.try_emplace(chunks);
    if (fresh) {
      at->second.collective = with_chunks(one_, chunks);
      at->second.bounds.emplace(topology_, at->second.collective, stop_);
    }
    return *at->second.bounds;
  }

  void weigh_trees() {
    const int ranks = topology_.ranks;
    const bool as_copies = packed_as_copies(one_);
    if (as_copies) {
      const Collective first = of_kind(one_, CollectiveKind::Alltoall, 1);
      show_by(LowerBounds(topology_, first, stop_).fewest_rounds().certificate.prices);
    }
    const Collective copies = as_copies ? of_kind(one_, CollectiveKind::AllReduceInPhases, ranks) : one_;
    const SolvedQuestion solved(topology_, copies);
    const Commodities each = each_class(solved.topology, solved.collective);
    const std::optional<Commodities> orbits = up_to_symmetry(each);
    Packer packer(orbits ? *orbits : each, solved.collective.combining);
    const double bound = static_cast<double>(rate_->rounds) / rate_->chunks;
    packer.improve(as_copies ? bound * ranks : bound, true, kPackingWork, stop_);
    if (std::optional<Prices> prices = packer.take_prices()) show_by({*std::move(prices)});
  }

  void show_by(std::vector<Prices> prices) {
    if (prices.size() != 1) return;
    const Claim trees =
        of_any_chunks(topology_, one_,
                      {.collective = one_.kind,
                       .certificate = {.kind = Certificate::Kind::Trees, .prices = std::move(prices)}});
    if (less({.rounds = rate_->rounds, .chunks = rate_->chunks},
             {.rounds = trees.rounds, .chunks = trees.chunks}))
      rate_ = trees;
  }

  struct OfChunks {
    Collective collective = {};
    std::optional<LowerBounds> bounds = {};
  };
  const Topology& topology_;
  const Collective& one_;
  const std::atomic<bool>* const stop_;
  std::map<int, OfChunks> of_chunks_ = {};
  std::optional<Claim> rate_ = {};
};

StrongestBounds::StrongestBounds(const Topology& topology, const Collective& one,
                                 const std::atomic<bool>* stop)
    : search_(std::make_unique<Search>(topology, one, stop)) {}
StrongestBounds::~StrongestBounds() = default;

const StepBound& StrongestBounds::fewest_steps(int chunks) {
  return search_->steps(chunks);
}

const Claim& StrongestBounds::rate() {
  return search_->rate();
}

Claim StrongestBounds::rounds(int chunks, int steps, int enough) {
  return search_->rounds(chunks, steps, enough);
}

std::vector<Claim> StrongestBounds::claims(int chunks, int steps, int enough) {
  std::vector<Claim> all;
  if (fewest_steps().steps == 0) return all;
  for (const Claim& claim : {search_->too_few_steps(), rate(), rounds(chunks), rounds(chunks, steps, enough)})
    if (claim.certificate.kind != Certificate::Kind::None && excludes_more(all, claim)) all.push_back(claim);
  return all;
}

}  // namespace chorale
