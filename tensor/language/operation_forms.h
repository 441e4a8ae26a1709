// One row per kind of operation: its arguments, in the order of the text form, and its rule of types. The
// reader, the printer, the normal form, the comparison of schedules and the number of operands come of it, so
// that a new operation is a row here, a rule (typing.h) and its name (workload.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expression.h"
#include "ir/or_error.h"
#include "tensor/language/typing.h"
#include "tensor/language/workload.h"

namespace chorale {

enum class ArgumentKind {
  Tensor,     // one of Operation::operands
  Tensors,    // all that follow, at least one
  Reduction,  // "+"
  Dimension,  // one of Operation::dims
  Shape,      // [B, 4*H], all of Operation::shape
  Begin,      // a length, or 0, in Operation::shape
  Length,     // a length in Operation::shape
  Slices,     // a dimension or flat, in Operation::layout; may be left out: flat
  Root,       // a rank, in Operation::layout
  Group,      // GROUP, in Operation::over; may be left out: World
  Scope,      // likewise, or ACROSS
  Shift,      // GROUP + 1, GROUP - 1, RANK + 1 or RANK - 1
  Windows     // stride = 2, padding = 1, in any order; may be left out
};

struct Argument {
  ArgumentKind kind = ArgumentKind::Tensor;
  const char* expected = "";  // behind the comma before it, for errors; of what may be left out there is none
};

struct OperationForm {
  OperationKind kind = OperationKind::Input;
  std::vector<Argument> arguments = {};
  OrError<TensorType> (*type)(const Typing&) = nullptr;
};

const OperationForm& form_of(OperationKind);
// The kind that a text calls by this name: one that is neither given nor pointwise.
std::optional<OperationKind> called_kind(std::string_view name);
std::vector<std::string> called_names();

// -1: any number.
int operand_count(const OperationForm&);

// The fields of the kind, with defaults for all others.
Operation with_fields_of_kind(const Operation&);

// "ReduceAlong("max", x, 1)"; of Pointwise the expression.
std::string call_text(const Operation&);

// Names of the text form beside those of expressions (ir/expression_words.h), for its reader and its printer.

inline constexpr Named<ReduceOp> kReductionWords[] = {
    {ReduceOp::Sum, "+"}, {ReduceOp::Min, "min"}, {ReduceOp::Max, "max"}};

inline constexpr Named<OperationKind> kConstantWords[] = {
    {OperationKind::Rank, "RANK"}, {OperationKind::Group, "GROUP"}, {OperationKind::Ranks, "WORLD"}};
// Functions composed of reductions along a dimension.
inline constexpr std::string_view kRowWords[] = {"Mean", "Softmax", "RMSNorm", "LayerNorm"};

}  // namespace chorale
