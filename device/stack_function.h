// A function of elements as a list of operations on a stack, for what was compiled before the function was known. For
// hosts and for device code, C++17.
//
// A kernel of the `run` command is compiled long before its user writes a function, so it goes through the
// operations, element by element. The stack is as deep as ir/epilogue.h lets an expression be, so nothing is
// tested here. Operators are numbered by how many values they take: 0 to 3 none, 4 to 6 one, 7 to 15 two, 16
// three. Sources that are emitted have the function printed as code instead (codegen/epilogue_source.h).
#pragma once

#include <cstdint>

#include "device/epilogue.h"

namespace chorale {

// The numbers are those of ExpressionOperator in ir/epilogue.h.
struct ExpressionRow {
  int op;
  int operand;
  double constant;
};

// A tensor of those beside the data: the type is a number of ElementType in ir/elements.h.
struct OperandRow {
  int type;
  int sliced;
  std::int64_t period;  // 0: as long as the data
};

struct StackFunction {
  static constexpr int kDeepest = 16;

  const ExpressionRow* rows;  // none: it is not applied
  int count;
  const OperandRow* operands;

  CHORALE_DEVICE bool applies() const { return count > 0; }

  template <typename R, typename Tensors>
  CHORALE_DEVICE R value(R element, std::int64_t index, const Tensors& tensors) const {
    R stack[kDeepest] = {};
    int top = -1;
    for (int i = 0; i < count; ++i) {
      const ExpressionRow& row = rows[i];
      if (row.op <= 3) {
        stack[++top] = row.op == 0   ? static_cast<R>(row.constant)
                       : row.op == 1 ? element
                       : row.op == 2 ? static_cast<R>(index)
                                     : loaded<R>(row.operand, index, tensors);
      } else if (row.op <= 6) {
        stack[top] = of_one(row.op, stack[top]);
      } else if (row.op <= 15) {
        --top;
        stack[top] = of_two(row.op, stack[top], stack[top + 1]);
      } else {
        top -= 2;
        stack[top] = chosen(stack[top], stack[top + 1], stack[top + 2]);
      }
    }
    return stack[0];
  }

 private:
  template <typename R>
  CHORALE_DEVICE static R of_one(int op, R a) {
    return op == 4 ? -a : op == 5 ? root_of(a) : exponential(a);
  }
  template <typename R>
  CHORALE_DEVICE static R of_two(int op, R a, R b) {
    switch (op) {
      case 7:
        return a + b;
      case 8:
        return a - b;
      case 9:
        return a * b;
      case 10:
        return a / b;
      case 11:
        return least(a, b);
      case 12:
        return greatest(a, b);
      case 13:
        return R(a < b);
      case 14:
        return R(a <= b);
      default:
        return R(a == b);
    }
  }

  template <typename R, typename Tensors>
  CHORALE_DEVICE R loaded(int operand, std::int64_t index, const Tensors& tensors) const {
    switch (operands[operand].type) {
      case 0:
        return loaded_as<R, float>(operand, index, tensors);
      case 1:
        return loaded_as<R, double>(operand, index, tensors);
      case 2:
        return loaded_as<R, std::int32_t>(operand, index, tensors);
      case 3:
        return loaded_as<R, std::int64_t>(operand, index, tensors);
      case 4:
        return loaded_as<R, std::int8_t>(operand, index, tensors);
      case 5:
        return loaded_as<R, std::uint8_t>(operand, index, tensors);
      case 6:
        return loaded_as<R, std::uint32_t>(operand, index, tensors);
      case 7:
        return loaded_as<R, std::uint64_t>(operand, index, tensors);
      case 8:
        return loaded_as<R, Float16>(operand, index, tensors);
      default:
        return loaded_as<R, Bfloat16>(operand, index, tensors);
    }
  }
  template <typename R, typename T, typename Tensors>
  CHORALE_DEVICE R loaded_as(int operand, std::int64_t index, const Tensors& tensors) const {
    const OperandRow& row = operands[operand];
    if (row.sliced) return tensors.template sliced<R, T>(operand, index);
    return tensors.template whole<R, T>(operand, row.period > 0 ? index % row.period : index);
  }
};

template <>
inline constexpr bool is_interpreted<StackFunction> = true;

}  // namespace chorale
