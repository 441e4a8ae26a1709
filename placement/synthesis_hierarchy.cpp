// All by mixed-radix numbers: a device is its digits, one for each factor of the matrix; an instruction
// states which digits vary inside a group and which are fixed, and what it does not name varies freely around
// the groups.
//
// For two levels of two below the root, devices 0 to 3: InsideGroup of slice 1 is {0 1} {2 3}, Parallel of
// slice 1 under the root is {0 2} {1 3}, and Master of the same only {0 2}.
#include "placement/synthesis_hierarchy.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "semantics/reduction.h"

namespace chorale {
namespace {

using Form = StrategyInstruction::Form;

// Numbers from digits: strides of a mixed radix, the last digit fastest.
std::vector<int> strides(const std::vector<int>& sizes) {
  std::vector<int> result(sizes.size(), 1);
  for (int i = static_cast<int>(sizes.size()) - 1; i > 0; --i) result[i - 1] = result[i] * sizes[i];
  return result;
}

int product(const std::vector<int>& sizes) {
  int result = 1;
  for (int size : sizes) result *= size;
  return result;
}

// What one step of the factor's digit adds to a device's number: levels outermost first, axes inside a level.
int stride_of(const ParallelismMatrix& matrix, const Factor& factor) {
  const int levels = static_cast<int>(matrix.factors.front().size());
  int stride = 1;
  for (int j = levels - 1; j >= factor.level; --j) {
    const std::vector<int> order = order_of(matrix, j);
    for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
      if (j == factor.level && *axis == factor.axis) return stride;
      stride *= matrix.factors[*axis][j];
    }
  }
  return stride;
}

// The numbers of all devices whose digits outside of `factors` are 0, in the order of these digits.
std::vector<int> offsets(const ParallelismMatrix& matrix, const std::vector<Factor>& factors) {
  std::vector<int> result = {0};
  for (const Factor& factor : factors) {
    const int stride = stride_of(matrix, factor);
    std::vector<int> next;
    for (int at : result)
      for (int d = 0; d < matrix.factors[factor.axis][factor.level]; ++d) next.push_back(at + d * stride);
    result = std::move(next);
  }
  return result;
}

// All factors that are not among these. Their digits vary freely: the strategy does the same at each of them.
std::vector<Factor> others(const ParallelismMatrix& matrix, const std::vector<Factor>& factors) {
  std::vector<Factor> result;
  for (int i = 0; i < static_cast<int>(matrix.factors.size()); ++i)
    for (int j = 0; j < static_cast<int>(matrix.factors[i].size()); ++j)
      if (std::find(factors.begin(), factors.end(), Factor{i, j}) == factors.end()) result.push_back({i, j});
  return result;
}

// The groups, given as positions in `devices`, once around each base.
// The strategy is of the digits that the hierarchy names. Around each combination of the others it is done
// once, at the same time.
DeviceGroups repeated(const DeviceGroups& groups, const std::vector<int>& devices,
                      const std::vector<int>& bases) {
  DeviceGroups result;
  for (int base : bases)
    for (const std::vector<int>& group : groups) {
      result.emplace_back();
      for (int member : group) result.back().push_back(base + devices[member]);
      std::sort(result.back().begin(), result.back().end());
    }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

std::vector<int> SynthesisHierarchy::sizes() const {
  std::vector<int> result;
  for (const SynthesisLevel& level : levels) result.push_back(level.size);
  return result;
}

std::vector<std::string> SynthesisHierarchy::names() const {
  std::vector<std::string> result;
  for (const SynthesisLevel& level : levels) result.push_back(level.name);
  return result;
}

SynthesisHierarchy synthesis_hierarchy(const Hierarchy& hierarchy, const std::vector<Axis>& axes,
                                       const ParallelismMatrix& matrix,
                                       const std::vector<int>& reduction_axes, SynthesisKind kind) {
  SynthesisHierarchy result{.levels = {{.name = "root"}}};
  const int levels = static_cast<int>(hierarchy.levels.size()), all = static_cast<int>(axes.size());
  const auto add = [&](const std::string& name, std::vector<Factor> factors) {
    int size = 1;
    for (const Factor& f : factors) size *= matrix.factors[f.axis][f.level];
    result.levels.push_back({name, size, std::move(factors)});
  };
  const auto name_of = [&](int axis, int level) {
    return axes[axis].name + "@" + hierarchy.levels[level].name;
  };
  switch (kind) {
    case SynthesisKind::System:
      for (int j = 0; j < levels; ++j) {
        std::vector<Factor> column;
        for (int i = 0; i < all; ++i) column.push_back({i, j});
        add(hierarchy.levels[j].name, column);
      }
      break;
    case SynthesisKind::Columns:
      for (int j = 0; j < levels; ++j)
        for (int i = 0; i < all; ++i) add(name_of(i, j), {{i, j}});
      break;
    case SynthesisKind::Rows:
      for (int i = 0; i < all; ++i)
        for (int j = 0; j < levels; ++j) add(name_of(i, j), {{i, j}});
      break;
    case SynthesisKind::ReductionAxes:
      for (int i : reduction_axes)
        for (int j = 0; j < levels; ++j) add(name_of(i, j), {{i, j}});
      break;
    // Factors of 1 would only give the same groups more names.
    case SynthesisKind::Collapsed:
      for (int j = 0; j < levels; ++j) {
        std::vector<Factor> column;
        int size = 1;
        for (int i : reduction_axes) {
          column.push_back({i, j});
          size *= matrix.factors[i][j];
        }
        if (size > 1) add(hierarchy.levels[j].name, column);
      }
      break;
  }
  return result;
}

// Joined levels have the factors of all, the outer ones slower, so a group over them is one over their
// product.
SynthesisHierarchy joined(const SynthesisHierarchy& hierarchy, const std::vector<int>& lengths) {
  SynthesisHierarchy result{.levels = {hierarchy.levels.front()}};
  std::size_t at = 1;
  for (int length : lengths) {
    SynthesisLevel level{.name = {}, .size = 1};
    for (int k = 0; k < length; ++k, ++at) {
      const SynthesisLevel& part = hierarchy.levels[at];
      level.name += (k > 0 ? "+" : "") + part.name;
      level.size *= part.size;
      level.factors.insert(level.factors.end(), part.factors.begin(), part.factors.end());
    }
    result.levels.push_back(std::move(level));
  }
  return result;
}

// A group is found by its first device, in which all digits that vary are 0. Devices come in the order of
// their numbers, so groups and what is in them are sorted.
DeviceGroups groups_of(const std::vector<int>& sizes, const StrategyInstruction& instruction) {
  const int levels = static_cast<int>(sizes.size());
  const bool inside = instruction.form == Form::InsideGroup;
  assert(instruction.slice >= 0 && instruction.slice < levels &&
         (inside || instruction.ancestor < instruction.slice));
  // The group's devices differ at levels from .. to - 1.
  const int from = inside ? instruction.slice + 1 : instruction.ancestor + 1;
  const int to = inside ? levels : instruction.slice + 1;
  const std::vector<int> stride = strides(sizes);
  std::map<int, std::vector<int>> groups;  // by their first device
  for (int device = 0; device < product(sizes); ++device) {
    int first = device;
    bool is_first_below = true;
    for (int l = 0; l < levels; ++l) {
      const int digit = device / stride[l] % sizes[l];
      if (l >= from && l < to) first -= digit * stride[l];
      if (l >= to && digit != 0) is_first_below = false;
    }
    if (instruction.form == Form::Master && !is_first_below) continue;
    groups[first].push_back(device);
  }
  DeviceGroups result;
  for (auto& [first, group] : groups) result.push_back(std::move(group));
  return result;
}

// Many names mean the same groups (where a level has size 1, or at the last level, where each Master is a
// Parallel); the first keeps them.
std::vector<Grouping> all_groupings(const std::vector<int>& sizes) {
  std::vector<Grouping> result;
  const auto add = [&](const StrategyInstruction& name) {
    DeviceGroups groups = groups_of(sizes, name);
    if (groups.front().size() < 2) return;
    for (const Grouping& known : result)
      if (known.groups == groups) return;
    result.push_back({name, std::move(groups)});
  };
  const int levels = static_cast<int>(sizes.size());
  for (int slice = 0; slice < levels; ++slice) add({.slice = slice, .form = Form::InsideGroup});
  for (const Form form : {Form::Parallel, Form::Master})
    for (int slice = 1; slice < levels; ++slice)
      for (int ancestor = 0; ancestor < slice; ++ancestor)
        add({.slice = slice, .form = form, .ancestor = ancestor});
  return result;
}

namespace {

// The digits of a hierarchy in its order, as far as they are not of size 1: a level that the reduction is
// split over (counted from the outermost), or something that it must leave alone.
struct Digit {
  int reduced = -1;    // -1: no part of the reduction
  bool mixed = false;  // of (a), where a level has both
};

// By kind, as synthesis_hierarchy() lists its levels, with the reduction's axes taken as one at the position
// of the first of them.
std::vector<Digit> digits_of(SynthesisKind kind, const ParallelismMatrix& matrix,
                             const std::vector<int>& reduction_axes) {
  const int axes = static_cast<int>(matrix.factors.size());
  const int levels = static_cast<int>(matrix.factors.front().size());
  const auto is_reduced = [&](int axis) {
    return std::ranges::find(reduction_axes, axis) != reduction_axes.end();
  };
  std::vector<int> number(levels, -1);  // by level of the machine
  int numbers = 0;
  for (int j = 0; j < levels; ++j)
    if (std::ranges::any_of(reduction_axes, [&](int i) { return matrix.factors[i][j] > 1; }))
      number[j] = numbers++;
  std::vector<Digit> digits;
  const auto add = [&](int axis, int level) {
    if (axis == reduction_axes.front() && number[level] >= 0) digits.push_back({.reduced = number[level]});
    if (!is_reduced(axis) && matrix.factors[axis][level] > 1) digits.push_back({});
  };
  for (int j = 0; j < levels && kind == SynthesisKind::System; ++j) {
    bool others = false;
    for (int i = 0; i < axes; ++i) others = others || (!is_reduced(i) && matrix.factors[i][j] > 1);
    if (others || number[j] >= 0) digits.push_back({number[j], others && number[j] >= 0});
  }
  for (int j = 0; j < levels && kind == SynthesisKind::Columns; ++j)
    for (int i = 0; i < axes; ++i) add(i, j);
  for (int i = 0; i < axes && kind == SynthesisKind::Rows; ++i)
    for (int j = 0; j < levels; ++j) add(i, j);
  for (int j = 0; j < levels; ++j)
    if (number[j] >= 0 && (kind == SynthesisKind::ReductionAxes || kind == SynthesisKind::Collapsed))
      digits.push_back({.reduced = number[j]});
  return digits;
}

}  // namespace

// An instruction joins neighbouring digits, and of a Master all that follow are 0. What joins a digit that
// the reduction must leave alone mixes sums; a Master that has one after it acts in some groups only.
std::vector<StrategyInstruction> groupings_of_kind(SynthesisKind kind, const ParallelismMatrix& matrix,
                                                   const std::vector<int>& reduction_axes,
                                                   const std::vector<int>& cut) {
  const std::vector<Digit> digits = digits_of(kind, matrix, reduction_axes);
  const auto clean = [&](auto from, auto to) {
    return std::all_of(from, to, [](const Digit& digit) { return digit.reduced >= 0 && !digit.mixed; });
  };
  const auto at = [&](int reduced) { return std::ranges::find(digits, reduced, &Digit::reduced); };
  std::vector<int> first = {0};  // by level of the cut: its first one of the reduction's; then the end
  for (int length : cut) first.push_back(first.back() + length);
  std::vector<int> sizes(cut.size() + 1, 2);
  sizes[0] = 1;
  std::vector<StrategyInstruction> result;
  for (const Grouping& grouping : all_groupings(sizes)) {
    const StrategyInstruction& name = grouping.name;
    const bool inside = name.form == Form::InsideGroup;
    const int outermost = inside ? name.slice : name.ancestor;  // of the cut, from 0
    const int innermost = inside ? static_cast<int>(cut.size()) - 1 : name.slice - 1;
    const auto from = at(first[outermost]), to = at(first[innermost + 1] - 1) + 1;
    if (clean(from, to) && (name.form != Form::Master || clean(to, digits.end()))) result.push_back(name);
  }
  return result;
}

// A device is the sum of an offset by the digits that the hierarchy names and one by those that it does not.
LoweredStrategy lower(const SynthesisHierarchy& hierarchy, const Strategy& strategy,
                      const ParallelismMatrix& matrix) {
  std::vector<Factor> named;
  for (const SynthesisLevel& level : hierarchy.levels)
    named.insert(named.end(), level.factors.begin(), level.factors.end());
  const std::vector<int> devices = offsets(matrix, named), bases = offsets(matrix, others(matrix, named));
  LoweredStrategy result;
  for (const StrategyInstruction& instruction : strategy)
    result.push_back(
        {instruction.operation, repeated(groups_of(hierarchy.sizes(), instruction), devices, bases)});
  return result;
}

// All factors by axis, outer levels first: the digits of a position in the mesh, in their order.
std::vector<int> devices_of_mesh(const ParallelismMatrix& matrix) {
  std::vector<Factor> all;
  for (int i = 0; i < static_cast<int>(matrix.factors.size()); ++i)
    for (int j = 0; j < static_cast<int>(matrix.factors[i].size()); ++j) all.push_back({i, j});
  return offsets(matrix, all);
}

// From factors alone, without levels or names: the verifier's goal is independent of the strategy's
// hierarchy.
DeviceGroups reduction_groups(const ParallelismMatrix& matrix, const std::vector<int>& reduction_axes) {
  std::vector<Factor> reduced;
  for (int i : reduction_axes)
    for (int j = 0; j < static_cast<int>(matrix.factors[i].size()); ++j) reduced.push_back({i, j});
  DeviceGroups result;
  const std::vector<int> members = offsets(matrix, reduced);
  for (int base : offsets(matrix, others(matrix, reduced))) {
    result.emplace_back();
    for (int member : members) result.back().push_back(base + member);
    std::sort(result.back().begin(), result.back().end());
  }
  std::sort(result.begin(), result.end());
  return result;
}

// A strategy is verified on a machine of its own, whose devices are all positions of the levels. That a
// smaller one stands for a larger one is no proof but a rule that the tests try on many sizes: groups at
// different positions of a level are copies of each other.

std::optional<Fault> strategy_fault(const std::vector<int>& sizes, const Strategy& strategy) {
  // Every level that is larger than 1 stays so. From the outermost in, each gets its true size if there is
  // room.
  std::vector<int> small(sizes.size(), 1);
  long long devices = 1;
  for (std::size_t l = 1; l < sizes.size(); ++l)
    if (sizes[l] > 1) devices *= small[l] = 2;
  for (std::size_t l = 1; l < sizes.size(); ++l)
    if (devices / small[l] * sizes[l] <= kMostVerifiedDevices) {
      devices = devices / small[l] * sizes[l];
      small[l] = sizes[l];
    }
  std::vector<int> all(devices);
  for (int d = 0; d < devices; ++d) all[d] = d;
  LoweredStrategy lowered;
  for (const StrategyInstruction& instruction : strategy)
    lowered.push_back({instruction.operation, groups_of(small, instruction)});
  return fault(static_cast<int>(devices), lowered, {all});
}

}  // namespace chorale
