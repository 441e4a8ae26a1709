// Fusion and overlap: the operations that a fused kernel may consist of, and the kernels and operations that
// may be overlapped, and why not more.
#pragma once

#include <string>
#include <vector>

#include "ir/error.h"
#include "tensor/language/workload.h"

namespace chorale {

// Computation    pointwise operations on one shape (or shapes that broadcast to it) and layout, and
//                reductions of them to scalars, which nothing else in the kernel reads; or with reductions
//                along the last dimension, which others may read: then it goes row by row
// AllReduce      a ReduceScatter, computations on its slices, at most one AllGather, which sends elements of
//                the same type on: each slice is computed with while it is in registers, and gathered from
//                there
// ReduceScatter  a ReduceScatter, and computations on its slices
// AllGather      computations on slices, and the AllGather of one of them
// Reduce         a Reduce, and computations on its root
// Broadcast      computations on a root, and the Broadcast of one of them
// Send           computations, and the Send of one of them
// Scalars        AllReduces of scalars, of one reduction, element type and scope, none of which depends on
//                another: their values go in one message
enum class KernelKind {
  Single,
  Computation,
  AllReduce,
  ReduceScatter,
  AllGather,
  Reduce,
  Broadcast,
  Send,
  Scalars
};

// A run of the list: one operation, or those of a kernel. Inputs and RANK, GROUP, WORLD are in none.
struct Unit {
  KernelKind kind = KernelKind::Single;
  std::string name = {};             // of the kernel, or of the operation
  std::vector<int> operations = {};  // indices in the list
  std::string overlap = {};
};
std::vector<Unit> units(const Workload&);  // in order; requires a workload that inferred() has passed

// Why these operations of the list cannot be one kernel; empty if they can. Types are inferred.
std::vector<Fault> kernel_faults(const Workload&, const std::vector<int>& operations);

// Why these units cannot be overlapped: each must read what the one before has made, and the pair be one of
// MatMul or Convolution with a collective (or fused one); AllGather or AllToAll with MatMul or Convolution;
// ReduceScatter with Send, Send with AllGather (fused or not). A computation with the elements of a MatMul's
// result may come between that and a MatMul of which it makes the first factor: rows go through all three.
// None may update what one before it reads. Or one is a communication by itself, and the others compute what
// does not depend on it, nor it on them: then it is beside all of them.
std::vector<Fault> overlap_faults(const Workload&, const std::vector<Unit>&);

// Does an operation of the one read the result of one of the other?
bool reads_from(const Workload&, const Unit& reader, const Unit& made);

bool goes_beside(const Workload&, const std::vector<Unit>&);

}  // namespace chorale
