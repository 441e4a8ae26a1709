// The hierarchies over which reduction strategies are written (P^2, sections 2.5 and 3.4), and what their
// instructions mean on devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/placement.h"

namespace chorale {

// A factor of the parallelism matrix.
struct Factor {
  int axis = 0;
  int level = 0;
  bool operator==(const Factor&) const = default;
};

// Level 0 is the root. A level may be a product of factors, the first varying slowest.
struct SynthesisLevel {
  std::string name = {};
  int size = 1;
  std::vector<Factor> factors = {};
};

struct SynthesisHierarchy {
  std::vector<SynthesisLevel> levels = {};
  std::vector<int> sizes() const;  // with the root
  std::vector<std::string> names() const;
};

SynthesisHierarchy synthesis_hierarchy(const Hierarchy&, const std::vector<Axis>&, const ParallelismMatrix&,
                                       const std::vector<int>& reduction_axes, SynthesisKind);

// Below the root, joins runs of neighbouring levels into one level each ("rack+node"): `lengths` are the
// runs, outermost first, and add up to the levels.
SynthesisHierarchy joined(const SynthesisHierarchy&, const std::vector<int>& lengths);

// The groups of an instruction as digits of a hierarchy with these sizes (sizes[0] = 1 is the root), the last
// level varying fastest. With slice e and ancestor a:
//   InsideGroup  devices that differ at levels inside of e only
//   Parallel(a)  devices that differ at levels from inside of a up to e
//   Master(a)    of these the groups that are first at all levels inside of e
DeviceGroups groups_of(const std::vector<int>& sizes, const StrategyInstruction&);

// Groups of more than one device that the instructions of such a hierarchy can name, each under one name:
// InsideGroup before Parallel before Master, outer slices first. The operation is not set.
struct Grouping {
  StrategyInstruction name = {};
  DeviceGroups groups = {};
};
std::vector<Grouping> all_groupings(const std::vector<int>& sizes);

// The groupings, by their names over the levels of the collapsed hierarchy (neighbours joined by `cut`), that
// instructions of another hierarchy can name, too, and that act alike in all groups of the reduction. A valid
// strategy of that hierarchy has no others, but for a Broadcast by a Master in some of them that a later one
// repeats (docs/placement.md). The reduction axes count as one, at the position of the first of them.
std::vector<StrategyInstruction> groupings_of_kind(SynthesisKind, const ParallelismMatrix&,
                                                   const std::vector<int>& reduction_axes,
                                                   const std::vector<int>& cut);

// The strategy on the machine: what the levels do not name varies freely, and the groups are repeated for it.
// Devices of a group are in the order of their numbers.
LoweredStrategy lower(const SynthesisHierarchy&, const Strategy&, const ParallelismMatrix&);

// [position in the mesh of all axes] -> device, the last axis varying fastest.
std::vector<int> devices_of_mesh(const ParallelismMatrix&);

// The devices that a reduction over these axes sums over, as groups.
DeviceGroups reduction_groups(const ParallelismMatrix&, const std::vector<int>& reduction_axes);

// What is wrong with a strategy.

// The verifier's fault in a strategy over levels of these sizes (sizes[0] = 1 is the root): at true size up
// to kMostVerifiedDevices devices; beyond that with some levels shrunk (none below 2), since groups at
// different positions of a level behave alike. Nothing: valid.
std::optional<Fault> strategy_fault(const std::vector<int>& sizes, const Strategy&);

}  // namespace chorale
