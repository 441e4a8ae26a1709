// Names of the text form beside those of expressions (ir/expression.h), for its reader and its printer.
#pragma once

#include "ir/expression.h"
#include "tensor/language/workload.h"

namespace chorale {

inline constexpr Named<ReduceOp> kReductionWords[] = {
    {ReduceOp::Sum, "+"}, {ReduceOp::Min, "min"}, {ReduceOp::Max, "max"}};

inline constexpr Named<OperationKind> kConstantWords[] = {
    {OperationKind::Rank, "RANK"}, {OperationKind::Group, "GROUP"}, {OperationKind::Ranks, "WORLD"}};
// Functions composed of reductions along a dimension.
inline constexpr std::string_view kRowWords[] = {"Mean", "Softmax", "RMSNorm", "LayerNorm"};

}  // namespace chorale
