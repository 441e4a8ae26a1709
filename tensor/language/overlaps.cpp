// Which units may be overlapped: each pair of neighbours hands over pieces, or one communication goes beside
// computations that do not depend on it. A unit is looked at by the kind that it acts as, so a fused
// AllGather may stand wherever an AllGather may.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/language/kernels.h"
#include "tensor/language/typing.h"

namespace chorale {
namespace {

// The kind that a unit is to its neighbours: that of its operation, or what a kernel acts as.
OperationKind acts_as(const Workload& workload, const Unit& unit) {
  switch (unit.kind) {
    case KernelKind::Single:
      return workload.operations[unit.operations.front()].kind;
    case KernelKind::Computation:
      return OperationKind::Pointwise;
    case KernelKind::AllGather:
      return OperationKind::AllGather;
    case KernelKind::ReduceScatter:
      return OperationKind::ReduceScatter;
    case KernelKind::Send:
      return OperationKind::Send;
    case KernelKind::Reduce:
      return OperationKind::Reduce;
    case KernelKind::Broadcast:
      return OperationKind::Broadcast;
    case KernelKind::AllReduce:
    case KernelKind::Scalars:
      return OperationKind::AllReduce;
  }
  return OperationKind::Input;
}

bool is_product(OperationKind kind) {
  return kind == OperationKind::MatMul || kind == OperationKind::Convolution;
}

// A pair hands elements over as they are made: a product its rows to any collective, what comes whole from
// others to a product, and slices from level to level.
bool can_overlap(OperationKind first, OperationKind second) {
  if (is_product(first)) return has_algorithm(second);
  if (is_product(second)) return first == OperationKind::AllGather || first == OperationKind::AllToAll;
  return (first == OperationKind::ReduceScatter && second == OperationKind::Send) ||
         (first == OperationKind::Send && second == OperationKind::AllGather);
}

// An input that the later unit updates while the earlier one reads it. (No operation reads it after the
// update; but overlapped units alternate, and a unit that needs a row for each element still reads it when
// its first elements are passed on.)
std::string updated_meanwhile(const Workload& workload, const Unit& earlier, const Unit& later) {
  for (const int l : later.operations)
    for (const int e : earlier.operations) {
      const std::string& input = workload.operations[l].updates;
      if (!input.empty() && std::ranges::count(workload.operations[e].operands, input) > 0) return input;
    }
  return "";
}

// Do rows go through members k - 1, k and k + 1: a MatMul, a computation with its result, a MatMul of that?
bool passes_rows(const Workload& workload, const std::vector<Unit>& members, std::size_t k) {
  if (k == 0 || k + 1 >= members.size() || acts_as(workload, members[k]) != OperationKind::Pointwise)
    return false;
  const Operation &first = workload.operations[members[k - 1].operations[0]],
                  &second = workload.operations[members[k + 1].operations[0]];
  if (first.kind != OperationKind::MatMul || second.kind != OperationKind::MatMul) return false;
  const auto made = [&](const Unit& unit, const std::string& name) {
    return std::ranges::any_of(unit.operations, [&](int o) { return workload.operations[o].name == name; });
  };
  return made(members[k], second.operands[0]) &&
         std::ranges::none_of(members, [&](const Unit& unit) { return made(unit, second.operands[1]); }) &&
         std::ranges::all_of(members[k].operations, [&](int o) {
           const Operation& each = workload.operations[o];
           return each.kind == OperationKind::Pointwise && same_sides(each.type.shape, first.type.shape) &&
                  each.type.layout == first.type.layout && each.type.scope == first.type.scope;
         });
}

}  // namespace

bool reads_from(const Workload& workload, const Unit& reader, const Unit& made) {
  for (const int r : reader.operations)
    for (const int m : made.operations)
      if (std::ranges::count(workload.operations[r].operands, workload.operations[m].name) > 0) return true;
  return false;
}

// One communication by itself, and computations that neither depend on it nor it on them. These may depend on
// each other.
bool goes_beside(const Workload& workload, const std::vector<Unit>& members) {
  const Unit* moved = nullptr;
  for (const Unit& unit : members)
    if (std::ranges::any_of(unit.operations,
                            [&](int o) { return is_communication(workload.operations[o].kind); })) {
      if (moved != nullptr || unit.kind != KernelKind::Single) return false;
      moved = &unit;
    }
  return moved != nullptr && std::ranges::none_of(members, [&](const Unit& unit) {
           return reads_from(workload, unit, *moved) || reads_from(workload, *moved, unit);
         });
}

// Neighbours only: a chain of three is two pairs. An update is looked for between all pairs, since the
// members run at the same time.
std::vector<Fault> overlap_faults(const Workload& workload, const std::vector<Unit>& members) {
  if (members.size() < 2)
    return {{.words = "there are not two in it that could be overlapped", .remedy = "name two or more"}};
  std::vector<Fault> faults;
  const bool beside = goes_beside(workload, members);
  for (std::size_t k = 1; k < members.size(); ++k) {
    const Unit &first = members[k - 1], &second = members[k];
    if (!beside && !reads_from(workload, second, first))
      faults.push_back({.place = {.instruction = second.operations[0]},
                        .words = fmt::format("{} does not read what {} makes", second.name, first.name),
                        .remedy = "overlap a producer with its consumer"});
    else if (!beside && !can_overlap(acts_as(workload, first), acts_as(workload, second)) &&
             !passes_rows(workload, members, k) && !passes_rows(workload, members, k - 1))
      faults.push_back(
          {.place = {.instruction = second.operations[0]},
           .words = fmt::format("{} and {} are not a pair that can be overlapped", first.name, second.name),
           .remedy =
               "pairs are MatMul or Convolution with a collective, AllGather or AllToAll with them, "
               "ReduceScatter with Send, Send with AllGather, and MatMuls with what is computed between "
               "them, row by row"});
    for (std::size_t j = 0; j < k; ++j)
      if (const std::string input = updated_meanwhile(workload, members[j], second); !input.empty())
        faults.push_back({.place = {.instruction = second.operations[0]},
                          .words = fmt::format("{} updates {}, which {} still reads when they are overlapped",
                                               second.name, input, members[j].name),
                          .remedy = "leave out the one or the other"});
  }
  return faults;
}

}  // namespace chorale
