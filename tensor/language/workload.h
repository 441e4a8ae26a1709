// A tensor program over the ranks of a job: computations and communication in one dataflow, which
// transformations (workload/) turn into others that mean the same. After CoCoNet (Jangda et al., ASPLOS
// 2022).
//
// Every rank runs it. The ranks of the job are `groups` groups of `ranks` consecutive ones: rank r of group g
// is rank g * ranks + r of the world. A tensor has one shape and element type, and a layout that defines each
// rank's part of it. Operations have names, which their results have too, and come after what they read; so
// the list is an order in which they may be done one after the other. Types of results are inferred
// (infer.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/elements.h"
#include "ir/expression.h"
#include "ir/expression_words.h"
#include "ir/named.h"
#include "ir/pieces.h"

namespace chorale {

// Numbers that shapes are made of: "size N = 1024". Programs that are emitted take other values when they
// run.
struct WorkloadSize {
  std::string name = {};
  std::int64_t value = 1;
  bool fixed = false;  // programs that are emitted have this value: a loop went by it
  bool operator==(const WorkloadSize&) const = default;
};

// The length of a dimension: factor * the product of sizes (sorted) / divisor, "4*H", "D/2", in lowest terms,
// and its value. The divisor divides whatever values the sizes have: programs that are emitted check it.
struct Extent {
  std::int64_t factor = 1;
  std::vector<std::string> sizes = {};
  std::int64_t divisor = 1;
  std::int64_t value = 1;
  bool operator==(const Extent&) const = default;
};
using TensorShape = std::vector<Extent>;  // []: a scalar

inline constexpr std::size_t kMostDimensions = 8;
inline constexpr int kFlat = -1;  // all elements in row-major order, as if they were the only dimension

// Replicated   every rank has all elements, and the same.
// Sliced       cut along `dim` into as many parts as there are ranks, of lengths that differ by at most one,
//              the longer ones first; rank r has part r. Of a tensor of one dimension kFlat and 0 are the
//              same, and written 0.
// Local        every rank has a tensor of this shape, each its own.
// Rooted       rank `root` has all elements, the others nothing.
enum class LayoutKind { Replicated, Sliced, Local, Rooted };
struct TensorLayout {
  LayoutKind kind = LayoutKind::Replicated;
  int dim = kFlat;  // of Sliced
  int root = 0;     // of Rooted
  bool operator==(const TensorLayout&) const = default;
};

// Whose ranks a layout, or a communication, is about: all of them, or each group's for itself; of
// communications also Across: those that have the same number in all groups.
enum class Scope { World, Group, Across };

struct TensorType {
  ElementType element = ElementType::Float32;
  TensorShape shape = {};
  TensorLayout layout = {};
  Scope scope = Scope::World;
  // Of Group: the groups that have the tensor. Sends move them on: what the first group would have sent to
  // the second, the second has and the first has not.
  int first_group = 0, last_group = 0;
  bool each =
      false;  // of Group: the same in each of them, so a tensor of the world; not of a Replicated one,
              // which is the world's if all groups have it
  bool operator==(const TensorType&) const = default;
};

// What operations do; results in brackets. p is the number of ranks of the scope.
enum class OperationKind {
  Input,         // a tensor from outside [as declared]
  Rank,          // RANK, of a rank in its group, GROUP, the number of its group [int32 scalars, Local],
  Group,         //
  Ranks,         // WORLD, how many ranks there are [int32 scalar, Replicated]
  Size,          // a size of the program, whose name it has, as a number [int32 scalar, Replicated]
  Pointwise,     // `expression` for each element of the broadcast operands, as PyTorch broadcasts
  MatMul,        // [.., M, K] x [K, N] or [.., K, N]
  Convolution,   // [N, C, H, W] x [O, C, h, w], `stride`, `padding` of zeros
  ReduceTensor,  // all elements into one, by `reduction` [scalar; of Sliced, each rank's part: Local]
  ReduceAlong,   // along one dimension, `dims`, by `reduction` [of length 1; cut along it: Local summands]
  // These go along one dimension, `dims`, that is not cut.
  ScanAlong,  // what `reduction` makes of each element and those before it [as it is]
  TopK,       // the numbers of the `shape` many largest, the largest first; of equals the first one [int32]
  TakeAlong,  // by the numbers of elements, as numpy.take_along_axis; 0 for those that it does not have
  // These move elements of what a rank has.
  Transpose,   // two dimensions, `dims`, exchanged
  Reshape,     // the same elements in row-major order, of another `shape`
  Narrow,      // along a dimension, `dims`: from shape[0] on, shape[1] of them
  Concat,      // operands one after the other along a dimension, `dims`
  GatherRows,  // [N, ..] by the numbers [M ..] of its rows: [M .., ..]; zeros for those that it does not have
  ScatterRows,    // [M .., ..] added to the rows, of `shape` many, of the numbers [M ..] [cut along M: Local]
  PutRows,        // the first operand with other rows, the second, at the numbers, the third [as it is]
  Slice,          // what a rank has of a replicated tensor in `layout` [Sliced]; nothing is moved
  AllReduce,      // Local, by `reduction` [Replicated]
  ReduceScatter,  // likewise [`layout`, Sliced]
  AllGather,      // Sliced [Replicated]
  Reduce,         // Local [`layout`, Rooted]
  Broadcast,      // Rooted [Replicated]
  AllToAll,       // Local, cut along its first dimension: part j goes to rank j, where it is part i [Local]
  AllToAllV,  // Local, its rows in the order of the ranks that they go to, and how many go to each, as int32;
              // they arrive in the order of the ranks that they come from, as `shape` many rows [Local]
  Send,  // to the same rank of the group `shift` further on [as it is, of groups further on]; or `around`
};

struct Operation {
  OperationKind kind = OperationKind::Input;
  std::string name = {};                   // of letters, digits and _; unique
  std::vector<std::string> operands = {};  // each the name of an earlier operation
  TensorType type = {};                    // of the result
  Expression expression = {};              // of Pointwise: Operand k is operands[k]; Element does not occur
  bool casts = false;                      // of Pointwise: `type.element` is given, not inferred
  ReduceOp reduction = ReduceOp::Sum;      // Sum, Min or Max
  std::vector<int> dims = {};              // dimensions, counted from 0, of the kinds that name one
  // Of TopK, Reshape, Narrow, ScatterRows, AllToAllV; of Pointwise, if it is more than operands broadcast to.
  TensorShape shape = {};
  TensorLayout layout = {};  // of Slice, ReduceScatter, Reduce
  // Of AllReduce, ReduceScatter, Slice. World: among the ranks of the operand's layout. Group: among those of
  // each group, of a tensor of the world. Across (of AllReduce alone): of a tensor of all groups.
  Scope over = Scope::World;
  int shift = 1;                // of Send: 1 or -1
  bool around = false;          // of Send: to the rank `shift` further on in its scope, round a ring [Local]
  int stride = 1, padding = 0;  // of Convolution
  bool state = false;      // of Input: the program's own between runs, so that its layout is free to choose
  bool scattered = false;  // of Input: given as a list of tensors, which lie anywhere
  // The input whose memory takes the result: nothing reads it by its own name from here on. Shape, element
  // type and layout are the same.
  std::string updates = {};
  // Operations with the same one follow each other in the list, and are done as one: a fused kernel, by its
  // name; one or more kernels and single operations that are overlapped.
  std::string kernel = {}, overlap = {};
  bool operator==(const Operation&) const = default;
};

struct Workload {
  std::string name = {};
  int ranks = 1;  // of a group
  int groups = 1;
  std::vector<WorkloadSize> sizes = {};
  std::vector<Operation> operations = {};
  std::vector<std::string> outputs = {};
  bool operator==(const Workload&) const = default;
};

// Null: no operation has that name.
const Operation* find(const Workload&, std::string_view name);
const Operation& operation(const Workload&, std::string_view name);  // which there is
bool is_communication(OperationKind);
bool has_algorithm(OperationKind);  // a communication that is a collective: neither a Send nor an AllToAllV
bool is_constant(OperationKind);    // RANK, GROUP, WORLD, a size
bool is_given(OperationKind);       // an input, or a constant: nothing is done for it
bool is_product(OperationKind);     // MatMul, Convolution
bool is_put_in_place(const Operation&);  // PutRows that keeps the other rows where they are
bool is_reduction(OperationKind);        // of what a rank has: ReduceTensor, ReduceAlong
bool goes_along(OperationKind);          // ScanAlong, TopK, TakeAlong

// Elements of the whole tensor.
std::int64_t elements(const TensorType&);
// Ranks among which it is laid out.
int ranks_of(const Workload&, const TensorType&);
// Ranks that a communication, or a Slice, is among.
Scope scope_of(const Workload&, const Operation&);
int ranks_in(const Workload&, Scope);

// For people and for the text form: "4*H", "[B, S, 4*H]", "Sliced(2)", "fp16[B, H] Local".
std::string to_string(const Extent&);
std::string to_string(const TensorShape&);
std::string to_string(const TensorLayout&);
std::string to_string(const TensorType&);
std::string to_string(OperationKind);  // "AllReduce"
// "fp16". Each type has one (ir/expression.h); programs are written with the first
// kWorkloadElementWords of them.
std::string short_name(ElementType);

// What runs the ranks of a compiled workload.

// Threads of one process; processes of MPI; all on one GPU; a GPU each, over NCCL; or any of these, as is
// chosen when it is built.
enum class WorkloadCarrier { Any, Threads, Mpi, Cuda, Nccl };

inline constexpr Named<WorkloadCarrier> kWorkloadCarriers[] = {{WorkloadCarrier::Threads, "threads"},
                                                               {WorkloadCarrier::Mpi, "mpi"},
                                                               {WorkloadCarrier::Cuda, "cuda"},
                                                               {WorkloadCarrier::Nccl, "nccl"}};

}  // namespace chorale
