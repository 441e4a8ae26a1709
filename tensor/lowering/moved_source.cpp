// Operations that move elements of what a rank has (tensor/exchange/boxes.h).
#include <fmt/format.h>

#include "tensor/lowering/names.h"
#include "tensor/lowering/step_source.h"

namespace chorale {

// All of them are local: layouts are such that a rank has what its part of the result needs. A rank without a
// part does nothing. Transposes, narrowings and concatenations are boxes of elements, each a place and a
// stride by dimension.
std::string StepPrinter::moved(const Operation& op) const {
  using Kind = OperationKind;
  for (const std::string& operand : op.operands) places_.require_together(operand, op.name);
  places_.require_together(op.name, op.name);
  const std::string to = places_.pointer(op.name), from = places_.first_of(op.operands[0]),
                    has = fmt::format("has_{}", op.name), had = fmt::format("has_{}", op.operands[0]);
  const auto here = [&](const std::string& statement) {
    return fmt::format("    if ({}.elements() > 0) device_.{};\n", has, statement);
  };
  const auto copied = [&](const char* box, const std::string& operand, int dim, const std::string& what) {
    return here(fmt::format("copy_box({}, {}, chorale::{}({}, has_{}, {}, {}))", to,
                            places_.first_of(operand), box, has, operand, dim, what));
  };
  switch (op.kind) {
    case Kind::Transpose:
      return copied("transposed_box", op.operands[0], op.dims[0], std::to_string(op.dims[1]));
    case Kind::Narrow:
      return copied("narrowed_box", op.operands[0], op.dims[0], printed_extent(op.shape[0]));
    case Kind::Concat: {
      std::string text, begin = "0";
      for (const std::string& operand : op.operands) {
        text += copied("placed_box", operand, op.dims[0], begin);
        begin += " + " + printed_extent(operation(workload_, operand).type.shape[op.dims[0]]);
      }
      return text;
    }
    case Kind::GatherRows:
      return here(
          fmt::format("gather_rows({}, {}, {}, has_{}.elements(), {}.side(0), chorale::product({}.own(), 1))",
                      to, from, places_.first_of(op.operands[1]), op.operands[1], had, had));
    case Kind::ScatterRows:
      return here(fmt::format(
          "scatter_rows({}, {}, {}, has_{}.elements(), {}.side(0), chorale::product({}.own(), 1))", to, from,
          places_.first_of(op.operands[1]), op.operands[1], has, has));
    default:
      return here(fmt::format("copy({}, {}, {}.elements())", to, from, has));
  }
}

}  // namespace chorale
