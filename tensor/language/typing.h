// Common parts of the rules of types (infer.h): an operation with its operands' types, and checks
// that several of them share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/or_error.h"
#include "tensor/language/workload.h"

namespace chorale {

inline constexpr std::int64_t kMostElements = std::int64_t{1} << 48;  // of a tensor

struct Typing {
  const Workload& workload;
  const Operation& operation;
  const std::string& where;
  std::vector<const TensorType*> operands = {};

  // "where: name: problem; remedy".
  [[nodiscard]] InputError fail(const std::string& problem, const std::string& remedy = "") const;
  // "where: name: AllGather takes a sliced tensor, and not g (fp16[N] Local); remedy".
  [[nodiscard]] InputError fail_not_taken(const std::string& takes, const std::string& remedy) const;
  // "g (fp16[N] Local)"
  std::string shown_operand(std::size_t k) const;
  const TensorType& only() const { return *operands.front(); }
};

// The rules (operation_forms.h has which is whose); layouts of results are normal().
OrError<TensorType> input_type(const Typing&);          // input_type.cpp
OrError<TensorType> pointwise_type(const Typing&);      // pointwise_type.cpp
OrError<TensorType> matmul_type(const Typing&);         // product_types.cpp
OrError<TensorType> convolution_type(const Typing&);    //
OrError<TensorType> reduce_tensor_type(const Typing&);  // communication_types.cpp
OrError<TensorType> reduce_along_type(const Typing&);
OrError<TensorType> scan_along_type(const Typing&);  // view_types.cpp
OrError<TensorType> top_k_type(const Typing&);
OrError<TensorType> take_along_type(const Typing&);
OrError<TensorType> transpose_type(const Typing&);
OrError<TensorType> reshape_type(const Typing&);
OrError<TensorType> narrow_type(const Typing&);
OrError<TensorType> concat_type(const Typing&);
OrError<TensorType> gather_rows_type(const Typing&);
OrError<TensorType> scatter_rows_type(const Typing&);
OrError<TensorType> put_rows_type(const Typing&);
OrError<TensorType> collective_type(const Typing&);  // communication_types.cpp: Slice, AllReduce,
OrError<TensorType> all_to_all_type(const Typing&);  // ReduceScatter, AllGather, Reduce, Broadcast
OrError<TensorType> all_to_all_v_type(const Typing&);
OrError<TensorType> send_type(const Typing&);

int dimensions(const TensorType&);

// An operation that reduces can add up, or take the least or the largest.
MaybeError require_reduction(const Typing&);

// Scope and groups of a result, from those of all operands, with elements as the first of these has them.
// Groups are what all operands have; in groups, a tensor that the world has replicated, or every rank has of
// its own, is each group's, too.
OrError<TensorType> scoped(const Typing&);

// Which dimension of a tensor with more dimensions a slice is along, once it is broadcast to that: they are
// counted from the end.
TensorLayout aligned(TensorLayout, int dimensions, int to_dimensions);

// Whether shapes have the same dimensions, under any names.
bool same_sides(const TensorShape&, const TensorShape&);
// Does a tensor of the first shape broadcast to the second?
bool broadcasts(const TensorShape&, const TensorShape& to);

// Why the layout cannot be of a tensor with `dimensions` dimensions, among `ranks` ranks, in words; empty if
// it can.
std::string layout_flaw(const TensorLayout&, int dimensions, int ranks);

// Is it one of fp64, fp32, fp16, bf16, e4m3, e5m2, int32?
bool is_workload_type(ElementType);

// The number of elements, or -1 if they are more than kMostElements.
std::int64_t counted_elements(const TensorShape&);

}  // namespace chorale
