// A kernel goes over the elements of one tensor, the domain, and does everything that is to be done with an
// element while it is in registers. So what it computes lies as the domain does; what is smaller and
// broadcast to it is computed again for each element that wants it, and therefore never stored. Communication
// comes in at most once before the computations, and once after them.
#include "tensor/language/kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/language/typing.h"

namespace chorale {
namespace {

using Kind = OperationKind;

// Reports all faults of the first kind that there is, each with the operation and a remedy.
class KernelCheck {
 public:
  KernelCheck(const Workload& workload, const std::vector<int>& operations)
      : workload_(workload), members_(operations) {}

  // Kinds first, then communication, then shapes: the domain is that of the communication, if there is
  // one, so it has a meaning only once these are known to be valid.
  std::vector<Fault> run() {
    if (std::ranges::all_of(members_, [&](int i) { return at(i).kind == Kind::AllReduce; })) {
      for (const int index : members_) fault_of_scalar(index);
      return faults_;
    }
    for (const int index : members_) fault_of_kind(index);
    if (!faults_.empty()) return faults_;
    fault_of_communication();
    if (!faults_.empty()) return faults_;
    domain_ = domain();
    for (const int index : members_) look_at(index);
    if (std::ranges::any_of(members_, [&](int i) { return at(i).kind == Kind::ReduceAlong; }))
      for (const int index : members_) fault_of_rows(index);
    return faults_;
  }

 private:
  void fault(int index, const std::string& words, const std::string& remedy) {
    faults_.push_back({.place = {.instruction = index},
                       .words = fmt::format("{} {}", workload_.operations[index].name, words),
                       .remedy = remedy});
  }
  const Operation& at(int index) const { return workload_.operations[index]; }

  // One message has elements of one type, of which all are added up alike.
  void fault_of_scalar(int index) {
    const Operation &each = at(index), &first = at(members_[0]);
    if (!each.type.shape.empty())
      return fault(index, "is an AllReduce, which hands nothing over before it has ended",
                   "split it into ReduceScatter and AllGather first; only scalars are summed in one message");
    if (each.reduction != first.reduction || each.over != first.over ||
        each.type.element != first.type.element || each.type.scope != first.type.scope ||
        each.type.first_group != first.type.first_group || each.type.last_group != first.type.last_group)
      return fault(index, fmt::format("and {} are not sums of one message", first.name),
                   "reduction, element type and groups have to be the same");
    if (member(each.operands[0]) != nullptr)
      fault(index, fmt::format("reads {}, which comes with the same message", each.operands[0]),
            "make two kernels");
  }

  // Null: it is made outside.
  const Operation* member(const std::string& name) const {
    for (const int index : members_)
      if (at(index).name == name) return &at(index);
    return nullptr;
  }

  // Kinds that no kernel holds, each with what to do instead.
  void fault_of_kind(int index) {
    switch (at(index).kind) {
      case Kind::AllReduce:
        return fault(index, "is an AllReduce, which hands nothing over before it has ended",
                     "split it into ReduceScatter and AllGather first");
      case Kind::MatMul:
      case Kind::Convolution:
        return fault(index, fmt::format("is a {}, which a library computes", to_string(at(index).kind)),
                     "overlap it with the kernel");
      case Kind::Slice:
        return fault(index, "is a Slice", "read the Replicated tensor itself: each rank takes what it needs");
      case Kind::Transpose:
      case Kind::Reshape:
      case Kind::Narrow:
      case Kind::Concat:
      case Kind::GatherRows:
      case Kind::ScatterRows:
      case Kind::PutRows:
        return fault(index, fmt::format("is a {}, which moves elements", to_string(at(index).kind)),
                     "do that outside of the kernel");
      case Kind::ScanAlong:
      case Kind::TopK:
      case Kind::TakeAlong:
        return fault(index, fmt::format("is a {}, with which nothing is fused", to_string(at(index).kind)),
                     "do that outside of the kernel");
      case Kind::AllToAllV:
        return fault(index, "is an AllToAllV, with which nothing is fused", "do that outside of the kernel");
      case Kind::AllToAll:
        return fault(index, "is an AllToAll, with which nothing is fused", "overlap it with a MatMul");
      case Kind::Input:
      case Kind::Rank:
      case Kind::Group:
      case Kind::Ranks:
      case Kind::Size:
        return fault(index, "is not a computation", "a kernel consists of operations");
      default:
        return;
    }
  }

  // One operation, or a ReduceScatter and an AllGather.
  // An AllReduce in two halves around the computations (CoCoNet's fused AllReduce): each slice is summed,
  // computed with in registers and gathered from there, so the sum is never stored.
  void fault_of_communication() {
    std::vector<int> found;
    for (const int index : members_)
      if (is_communication(at(index).kind)) found.push_back(index);
    if (found.size() < 2) return;
    const Operation &first = at(found[0]), &second = at(found[1]);
    if (found.size() > 2 || first.kind != Kind::ReduceScatter || second.kind != Kind::AllGather)
      return fault(found.back(),
                   fmt::format("({}) and {} ({}) are not a fused collective",
                               to_string(at(found.back()).kind), first.name, to_string(first.kind)),
                   "of two, only ReduceScatter and AllGather can be in one kernel; make several");
    if (first.type.element != second.type.element)
      fault(found[1],
            fmt::format("gathers {}, and {} scatters {}", short_name(second.type.element), first.name,
                        short_name(first.type.element)),
            "a fused AllReduce sends elements of one type: Cast before, or make two kernels");
  }

  // Of what a kernel gathers or reduces it goes over the operand; of a ReduceScatter and of computations,
  // over the result. The largest tensor is the domain where nothing communicates.
  TensorType domain() const {
    TensorType largest;
    bool found = false;
    for (const int index : members_) {
      const Operation& each = at(index);
      const bool operand_counts = is_after(each.kind) || is_reduction(each.kind);
      const TensorType& type = operand_counts ? operation(workload_, each.operands[0]).type : each.type;
      if (is_communication(each.kind)) return type;
      if (!found || elements(type) > elements(largest)) largest = type;
      found = true;
    }
    return largest;
  }

  static bool is_after(Kind kind) {
    return kind == Kind::AllGather || kind == Kind::Broadcast || kind == Kind::Send;
  }

  // The same groups: on other ranks there would be nothing to be computed with.
  bool same_place(const TensorType& type) const {
    return type.scope == domain_.scope && type.first_group == domain_.first_group &&
           type.last_group == domain_.last_group;
  }
  bool in_domain(const TensorType& type) const {
    return same_sides(type.shape, domain_.shape) && type.layout == domain_.layout && same_place(type);
  }
  // A bias [H] in a kernel over [B, S, H]: replicated, or cut as the domain is along the dimension that
  // both have.
  bool broadcasts_to_domain(const TensorType& type) const {
    if (same_sides(type.shape, domain_.shape) || !broadcasts(type.shape, domain_.shape)) return false;
    if (type.layout.kind == LayoutKind::Replicated) return type.scope == Scope::World || same_place(type);
    const auto size = [](const TensorShape& shape) { return static_cast<int>(shape.size()); };
    return aligned(type.layout, size(type.shape), size(domain_.shape)) == domain_.layout && same_place(type);
  }

  // What arrives from other ranks comes before all computations, and what is sent comes after them: so a sum
  // over ranks reads nothing that the kernel makes, and a gather or Send only that.
  void look_at(int index) {
    const Operation& each = at(index);
    fault_of_reads(index);
    if (each.kind == Kind::Pointwise) fault_of_pointwise(index);
    if (each.kind == Kind::ReduceTensor && !in_domain(operation(workload_, each.operands[0]).type))
      fault(index,
            fmt::format("reduces {}, and the kernel goes over {}", each.operands[0], to_string(domain_)),
            "reduce what the kernel goes over, or outside of it");
    const Operation* const read = each.operands.empty() ? nullptr : member(each.operands[0]);
    if ((each.kind == Kind::ReduceScatter || each.kind == Kind::Reduce) && read != nullptr)
      fault(index, fmt::format("adds up {}, which is made in the kernel", read->name),
            "compute that before the kernel");
    if (is_after(each.kind) && read == nullptr)
      fault(index, fmt::format("sends {}, which is not made in the kernel", each.operands[0]),
            "fuse it with what makes that");
  }

  // Rows are done one by one, each by itself, several times over.
  void fault_of_rows(int index) {
    const Operation& each = at(index);
    const int last = static_cast<int>(domain_.shape.size()) - 1;
    if (each.kind == Kind::ReduceTensor)
      fault(index, "reduces everything, in a kernel that goes row by row", "reduce it outside");
    if (each.kind == Kind::Pointwise && !each.updates.empty())
      fault(index, fmt::format("updates {}, in a kernel that goes row by row", each.updates),
            "update it outside");
    if (each.kind != Kind::ReduceAlong) return;
    if (each.dims[0] != last || domain_.layout == TensorLayout{.kind = LayoutKind::Sliced, .dim = last})
      return fault(index, fmt::format("reduces {} along dimension {}", to_string(domain_), each.dims[0]),
                   "a kernel reduces rows, which are along the last dimension, and not sliced");
    if (!in_domain(operation(workload_, each.operands[0]).type))
      fault(index,
            fmt::format("reduces {}, and the kernel goes over {}", each.operands[0], to_string(domain_)),
            "reduce what the kernel goes over, or outside of it");
  }

  // Sums, and what comes back from other ranks, are there only in the end.
  void fault_of_reads(int index) {
    for (const std::string& name : at(index).operands) {
      const Operation* const read = member(name);
      if (read != nullptr && (is_after(read->kind) || read->kind == Kind::ReduceTensor))
        fault(index, fmt::format("reads {}, which is complete only at the end of the kernel", name),
              "compute it after the kernel");
    }
  }

  // What is smaller than the domain is computed for each element that wants it. It has no memory, so
  // nothing outside of the kernel can read it.
  void fault_of_pointwise(int index) {
    const Operation& each = at(index);
    if (in_domain(each.type)) return;
    if (!broadcasts_to_domain(each.type))
      return fault(
          index, fmt::format("is {}, and the kernel goes over {}", to_string(each.type), to_string(domain_)),
          "shape, layout and groups have to be the same, or the shape broadcast to it");
    const auto reads = [&](const Operation& reader) {
      return std::ranges::count(reader.operands, each.name) > 0 && member(reader.name) == nullptr;
    };
    const bool stored = !each.updates.empty() || std::ranges::count(workload_.outputs, each.name) > 0 ||
                        std::ranges::any_of(workload_.operations, reads);
    if (stored)
      fault(index,
            fmt::format("is {}, which the kernel computes for each element of {}, and never stores",
                        to_string(each.type), to_string(domain_)),
            "compute it before the kernel");
  }

  const Workload& workload_;
  const std::vector<int>& members_;
  TensorType domain_ = {};
  std::vector<Fault> faults_ = {};
};

// The kind of operation that each kind of kernel is to its neighbours. In the order of KernelKind, of which
// Single has none; kernel_kind() takes the first of those that it has.
struct KernelRow {
  KernelKind kind;
  Kind acts_as;
};
constexpr KernelRow kKernels[] = {
    {KernelKind::Single, Kind::Input},        {KernelKind::Computation, Kind::Pointwise},
    {KernelKind::AllReduce, Kind::AllReduce}, {KernelKind::ReduceScatter, Kind::ReduceScatter},
    {KernelKind::AllGather, Kind::AllGather}, {KernelKind::Reduce, Kind::Reduce},
    {KernelKind::Broadcast, Kind::Broadcast}, {KernelKind::Send, Kind::Send},
    {KernelKind::Scalars, Kind::AllReduce}};

// By what communicates. Of a fused AllReduce there are two.
KernelKind kernel_kind(const Workload& workload, const std::vector<int>& operations) {
  const auto has = [&](Kind kind) {
    return std::ranges::any_of(operations,
                               [&](int index) { return workload.operations[index].kind == kind; });
  };
  if (has(Kind::AllReduce)) return KernelKind::Scalars;
  if (has(Kind::ReduceScatter) && has(Kind::AllGather)) return KernelKind::AllReduce;
  for (const KernelRow& row : kKernels)
    if (is_communication(row.acts_as) && has(row.acts_as)) return row.kind;
  return KernelKind::Computation;
}

}  // namespace

// Operations of a kernel follow each other (inferred() has checked it), so one pass finds the runs. Two
// neighbouring kernels differ in their names.
std::vector<Unit> units(const Workload& workload) {
  std::vector<Unit> result;
  std::string kernel;  // of the operation before
  for (int index = 0; index < static_cast<int>(workload.operations.size()); ++index) {
    const Operation& each = workload.operations[index];
    if (is_given(each.kind)) continue;
    if (each.kernel.empty() || each.kernel != kernel)
      result.push_back({.name = each.kernel.empty() ? each.name : each.kernel, .overlap = each.overlap});
    result.back().operations.push_back(index);
    kernel = each.kernel;
  }
  for (Unit& unit : result)
    if (!workload.operations[unit.operations[0]].kernel.empty())
      unit.kind = kernel_kind(workload, unit.operations);
  return result;
}

std::vector<Fault> kernel_faults(const Workload& workload, const std::vector<int>& operations) {
  if (operations.empty()) return {{.words = "there is nothing in it", .remedy = "name operations"}};
  return KernelCheck(workload, operations).run();
}

// Which units may be overlapped: each pair of neighbours hands over pieces, or one communication goes beside
// computations that do not depend on it. A unit is looked at by the kind that it acts as, so a fused
// AllGather may stand wherever an AllGather may.

namespace {

// The kind that a unit is to its neighbours: that of its operation, or what a kernel acts as.
OperationKind acts_as(const Workload& workload, const Unit& unit) {
  if (unit.kind == KernelKind::Single) return workload.operations[unit.operations.front()].kind;
  return kKernels[static_cast<std::size_t>(unit.kind)].acts_as;
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
