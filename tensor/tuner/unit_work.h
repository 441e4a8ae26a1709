// The work of the units of a program, from shapes and layouts alone, on the rank that has most to do: bytes
// between memory and registers, operations of arithmetic, bytes of collectives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/language/kernels.h"
#include "tensor/language/workload.h"

namespace chorale {

struct CollectiveWork {
  std::string name = {};
  OperationKind kind = OperationKind::AllReduce;
  Scope scope = Scope::World;
  int root = 0;  // of Reduce, Broadcast
  // Of a block, as costs count them (ir/collective.h): of AllReduce, Reduce, Broadcast and Send the whole
  // tensor, or what a rank has of it, of AllGather and ReduceScatter the largest part, of AllToAll what one
  // rank sends to another, and of AllToAllV, too, if counts are even.
  std::int64_t block_bytes = 0;
};

struct UnitWork {
  Unit unit = {};
  bool is_product = false;
  bool beside = false;  // is of an overlap of a communication and what does not depend on it
  // An element that is read more than once is read once; what a kernel makes and only the kernel reads costs
  // none. The rule of UnitTraffic (tests/tensor/interpreter.h), but for operands that are broadcast in a
  // form of their own ([S, 1] over flat slices) and convolutions that skip elements, which count as if all
  // were read.
  std::int64_t read = 0, written = 0;
  double product_flops = 0;      // of MatMul and Convolution of 16-bit floats
  double flops = 0;              // of float32, and of 16-bit floats, which are computed in it
  double double_flops = 0;       // of float64 and int32
  std::int64_t handed_over = 0;  // bytes of what it makes and others read, or that is an output, on a rank
  std::vector<CollectiveWork> collectives = {};
};

// In order. Requires types.
std::vector<UnitWork> unit_work(const Workload&);

}  // namespace chorale
