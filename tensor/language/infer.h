// The types of results, from those of operands: every rule with the error that it gives. docs/workloads.md
// has them as a table.
#pragma once

#include <functional>
#include <string>

#include "ir/or_error.h"
#include "tensor/language/workload.h"

namespace chorale {

inline constexpr std::size_t kMostOperations = 1024, kMostSizes = 256;  // of a workload

// Of an operation whose operands are in the workload, with their types; of Input, the declared one. An error
// names `where`, the operation and the rule.
OrError<TensorType> inferred_type(const Workload&, const Operation&, const std::string& where);

// With all types inferred anew, after all checks of a workload: names, order, updates, kernels and overlaps
// (kernels.h), outputs. An error names `where` and the operation.
//
// The result is in normal form: dimensions have the values that the sizes give; operands of expressions are
// there once each, in the order in which the expression has them; RANK, GROUP and WORLD come first, if
// anything reads them; fields that mean nothing for a kind have their defaults.
OrError<Workload> inferred(Workload, const std::string& where);

// Likewise; errors are reported at the location of the operation, kernel or overlap of a name ("": the
// program).
using Whereabouts = std::function<std::string(const std::string& name)>;
OrError<Workload> inferred(Workload, const Whereabouts&);

// The type that elements have after an operator on both, as PyTorch promotes them: float16 with bfloat16
// becomes fp32, and e4m3 with e5m2, too.
ElementType promoted(ElementType, ElementType);

// The normal form: layouts that mean the same for a tensor with `dimensions` dimensions become equal (kFlat
// and 0 mean the same for one).
TensorLayout normal(TensorLayout, int dimensions);

}  // namespace chorale
