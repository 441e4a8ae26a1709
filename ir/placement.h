// Where parallel axes lie on a hierarchy, and how a reduction over some of them is done (Xie et al.: P^2,
// 2022).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/hierarchy.h"
#include "ir/named.h"

namespace chorale {

struct Axis {
  std::string name = {};
  int size = 1;
  bool operator==(const Axis&) const = default;
};

// factors[axis][level]: the product of a row is the axis, that of a column the level's fan-out. Inside a
// level, the first axis varies slowest, or the axes vary in the order of `orders`.
struct ParallelismMatrix {
  std::vector<std::vector<int>> factors = {};
  std::vector<std::vector<int>> orders = {};  // by level: all axes, the slowest first; none: as numbered
  bool operator==(const ParallelismMatrix&) const = default;
  auto operator<=>(const ParallelismMatrix&) const = default;
};

// What a placement must obey besides the two products.
struct Conditions {
  struct Inside {  // the axis stays inside one unit of the level: its factors there and further out are 1
    int axis = 0;
    int level = 0;
    bool operator==(const Inside&) const = default;
  };
  struct Order {  // no level at which `inner` is split lies outside of one at which `outer` is
    int inner = 0;
    int outer = 0;
    bool operator==(const Order&) const = default;
  };
  struct Memory {  // a unit of the level holds every different shard of these axes once
    int level = 0;
    std::vector<int> axes = {};
    double shard_bytes = 0;
    double capacity_bytes = 0;
    bool operator==(const Memory&) const = default;
  };
  std::vector<Inside> inside = {};
  std::vector<Order> order = {};
  std::vector<Memory> memory = {};
  bool operator==(const Conditions&) const = default;
};

// What devices that differ in these axes only do with each other.
enum class Goal {
  AllReduce,  // every device contributes `bytes` and gets the sum
  // every device contributes `bytes` and gets its part of the sum, whichever the strategy leaves it
  ReduceScatter,
  AllGather,  // every device has such a part, and gets `bytes`
  AllToAll,   // every device has `bytes`, and sends an equal part to each
  Shift,      // every device sends `bytes` to the next along the axes, the last to none
};
inline constexpr std::array<Goal, 5> kAllGoals = {Goal::AllReduce, Goal::ReduceScatter, Goal::AllGather,
                                                  Goal::AllToAll, Goal::Shift};
inline constexpr Named<Goal> kGoalNames[] = {{Goal::AllReduce, "allreduce"},
                                             {Goal::ReduceScatter, "reducescatter"},
                                             {Goal::AllGather, "allgather"},
                                             {Goal::AllToAll, "alltoall"},
                                             {Goal::Shift, "shift"}};
const char* name(Goal);

struct Reduction {
  std::string name = {};
  Goal goal = Goal::AllReduce;
  std::vector<int> axes = {};  // indices, ascending
  double bytes = 0;            // that a device contributes; of an AllGather what it has in the end
  double times = 1;            // per iteration of the job
  double element_bytes = 4;    // nothing is scattered finer
  // Earlier reductions of the job: this one begins when they have ended. Not given: all that are before it.
  std::optional<std::vector<int>> after = {};
  bool operator==(const Reduction&) const = default;
};

struct Job {
  std::string name = {};
  std::vector<Axis> axes = {};
  std::vector<Reduction> reductions = {};
  bool operator==(const Job&) const = default;
};

// Does any reduction of the job name its predecessors, so that some may run side by side?
bool overlaps(const Job&);
// By reduction: those that it waits for.
std::vector<std::vector<int>> predecessors(const Job&);

Job job_from_json(std::string_view text, const std::string& file);
std::string to_json(const Job&);

// The hierarchies over which strategies may be written (P^2, section 3.4; placement/synthesis_hierarchy.h),
// the richest last.
enum class SynthesisKind {
  System,         // (a) the levels of the machine
  Columns,        // (b) all factors, level by level
  Rows,           // (c) all factors, axis by axis
  ReductionAxes,  // (d) the factors of the reduction axes, axis by axis
  // (d) with factors of one machine level joined, and without factors of 1: what we search by default
  Collapsed,
};
// Those that can be asked for. Of several reduction axes, the factors in one level are one in all of them.
inline constexpr Named<SynthesisKind> kSynthesisChoices[] = {{SynthesisKind::System, "system"},
                                                             {SynthesisKind::Columns, "columns"},
                                                             {SynthesisKind::Rows, "rows"},
                                                             {SynthesisKind::Collapsed, "reduction"}};
std::string name_of(SynthesisKind);

// One instruction of a strategy. `slice` and `ancestor` are levels of a synthesis hierarchy, whose level 0 is
// the root (size 1) and whose others are numbered from 1; ancestor < slice.
struct StrategyInstruction {
  enum class Form { InsideGroup, Parallel, Master };
  enum class Operation { AllReduce, ReduceScatter, AllGather, Reduce, Broadcast };
  int slice = 0;
  Form form = Form::InsideGroup;
  int ancestor = 0;  // of Parallel and Master
  Operation operation = Operation::AllReduce;
  bool operator==(const StrategyInstruction&) const = default;
  auto operator<=>(const StrategyInstruction&) const = default;
};

inline constexpr int kOperations = 5;
inline constexpr std::array<StrategyInstruction::Operation, kOperations> kAllOperations = {
    StrategyInstruction::Operation::AllReduce, StrategyInstruction::Operation::ReduceScatter,
    StrategyInstruction::Operation::AllGather, StrategyInstruction::Operation::Reduce,
    StrategyInstruction::Operation::Broadcast};
inline constexpr Named<StrategyInstruction::Operation> kOperationNames[] = {
    {StrategyInstruction::Operation::AllReduce, "AllReduce"},
    {StrategyInstruction::Operation::ReduceScatter, "ReduceScatter"},
    {StrategyInstruction::Operation::AllGather, "AllGather"},
    {StrategyInstruction::Operation::Reduce, "Reduce"},
    {StrategyInstruction::Operation::Broadcast, "Broadcast"}};
inline constexpr Named<StrategyInstruction::Form> kFormNames[] = {
    {StrategyInstruction::Form::InsideGroup, "InsideGroup"},
    {StrategyInstruction::Form::Parallel, "Parallel"},
    {StrategyInstruction::Form::Master, "Master"}};

using Strategy = std::vector<StrategyInstruction>;

// Disjoint, of equal size; devices in the order in which the operation counts them (the first is the root).
using DeviceGroups = std::vector<std::vector<int>>;

struct LoweredInstruction {
  StrategyInstruction::Operation operation = StrategyInstruction::Operation::AllReduce;
  DeviceGroups groups = {};
  bool operator==(const LoweredInstruction&) const = default;
  auto operator<=>(const LoweredInstruction&) const = default;
};

using LoweredStrategy = std::vector<LoweredInstruction>;

const char* name(StrategyInstruction::Operation);
// Returns "(gpu, InsideGroup, ReduceScatter)", "(node, Parallel(root), AllReduce)": levels[0] is the root.
std::string to_text(const StrategyInstruction&, const std::vector<std::string>& levels);
std::string to_text(const Strategy&, const std::vector<std::string>& levels);
std::string to_text(const ParallelismMatrix&);  // "[[1 8] [4 2]]": its factors
// Returns the axes as they vary in a level, the slowest first.
std::vector<int> order_of(const ParallelismMatrix&, int level);

// A reduction strategy as a person writes it: in the words in which strategies are printed, by names of
// levels.

// A parallelism matrix defines which levels there are, so they are names here.
struct NamedInstruction {
  std::string slice = {};
  StrategyInstruction::Form form = StrategyInstruction::Form::InsideGroup;
  std::string ancestor = {};  // of Parallel and Master
  StrategyInstruction::Operation operation = StrategyInstruction::Operation::AllReduce;
  bool operator==(const NamedInstruction&) const = default;
};

using NamedStrategy = std::vector<NamedInstruction>;

// Reads "(gpu, InsideGroup, ReduceScatter); (gpu, Parallel(root), AllReduce); (gpu, InsideGroup, AllGather)".
// Throws InputError that names `where` and the instruction.
NamedStrategy parse_strategy(std::string_view text, const std::string& where);

}  // namespace chorale
