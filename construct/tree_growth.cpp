// The simplest method that fits comes first: shortest paths alone (local_growth.h), which is exact on rings,
// tori, hypercubes and meshes and quick at any size; where they are not enough, growth under the feasibility
// oracle. Both use a regular automorphism group (translations) if there is one, so that machines of a
// thousand ranks cost as much as one rank.
#include "construct/tree_growth.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "bounds/cuts.h"
#include "bounds/demand.h"
#include "construct/families.h"
#include "construct/local_growth.h"
#include "construct/oracle_growth.h"
#include "construct/spreading.h"
#include "symmetry/digit_shifts.h"
#include "symmetry/orbits.h"

namespace chorale {
namespace {

constexpr std::size_t kMostEntries = 64;
// A feasibility test examines each chunk at each rank, for one representative in a try of a step. Beyond this
// much work in a try it takes minutes; 128 ranks without a group, two chunks each, are 4e6 and take two
// seconds.
constexpr double kMostGuarded = 8e6;
// Work for all numbers of rounds that are tried together, per representative.
constexpr double kMostTargets = 500'000;
constexpr int kMostTried = 8;

bool few_entries(const QuotientInstance& quotient) {
  for (std::size_t i = 0; i < quotient.representatives().size(); ++i)
    if (quotient.entries(static_cast<int>(i)).size() > kMostEntries) return false;
  return true;
}

std::vector<std::vector<Rank>> group_for(const Topology& topology, const Collective& collective) {
  if (collective.kind == CollectiveKind::Allgather) return digit_shifts(topology);
  std::vector<Rank> identity(topology.ranks);
  std::iota(identity.begin(), identity.end(), 0);
  return {identity};
}

// Ranks between which chunks need not pass the cut, nor one that the group makes of it.
std::vector<int> blocks_of(const QuotientInstance& quotient, const Prices& cut) {
  const Topology& topology = quotient.topology();
  std::vector<bool> dear(topology.links.size(), false);  // by link into a representative
  for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
    if (cut.links[l] > 0) dear[quotient.entering(l)] = true;
  for (std::size_t z = 0; z < topology.limits.size(); ++z)
    if (cut.limits[z] > 0)
      for (LinkId l : topology.limits[z].links) dear[quotient.entering(l)] = true;
  Orbits blocks(topology.ranks);
  for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
    if (!dear[quotient.entering(l)]) blocks.join(topology.links[l].src, topology.links[l].dst);
  return blocks.representatives();
}

}  // namespace

std::vector<Schedule> grow_trees(const Topology& topology, const Collective& collective,
                                 const std::atomic<bool>* stop, long long most_relaxations) {
  if (!copies_to_all(topology, collective)) return {};
  const QuotientInstance quotient(topology, collective, group_for(topology, collective));
  if (!few_entries(quotient)) return {};
  // What the group makes of a destination has the same cuts.
  const std::vector<Rank>& each = quotient.representatives();
  const std::optional<PriceBound> cut =
      tightest_cut(topology, wanted_classes(collective), stop,
                   std::ssize(each) < topology.ranks ? each : std::vector<Rank>());
  if (!cut) return {};
  const int rounds = std::max(rounds_shown(*cut), quotient.farthest());
  std::vector<Schedule> schedules;
  if (quotient.is_separate())
    if (std::optional<Schedule> grown = grow_locally(quotient, rounds, 1, stop))
      keep_undominated(schedules, std::move(*grown));
  const double relaxations = static_cast<double>(quotient.chunks()) * quotient.ranks();
  if (relaxations * static_cast<double>(quotient.representatives().size()) > kMostGuarded) return schedules;
  const std::vector<int> block = blocks_of(quotient, cut->prices.front());
  // More rounds, for fewer steps: one more, then more and more.
  WorkBudget effort(most_relaxations, stop);
  int targets = std::clamp(static_cast<int>(kMostTargets / relaxations), 1, kMostTried);
  for (int more = 0; targets > 0; more += more / 2 + 1, --targets) {
    if (!schedules.empty() && static_cast<int>(schedules.front().steps.size()) == quotient.farthest()) break;
    std::optional<Schedule> grown =
        grow_with_oracle(quotient, rounds + more, 2 * rounds + more, block, 1, effort);
    if (grown)
      keep_undominated(schedules, std::move(*grown));
    else if (more > 0)
      break;  // from yet more to begin with nothing comes, either (dgx1 x 2, 64 chunks: seven seconds)
  }
  return schedules;
}

}  // namespace chorale
