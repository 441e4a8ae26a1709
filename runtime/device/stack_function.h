// A function of elements as a list of operations on a stack, for what was compiled before the function was
// known. For hosts and for device code, C++17.
//
// A kernel of the `run` command is compiled long before its user writes a function, so it goes through the
// operations, element by element. The stack is as deep as ir/epilogue.h lets an expression be, so nothing is
// tested here. Operators are numbered by how many values they take: 0 to 4 none, 5 to 11 one, 12 to 21 two,
// 22 three. Sources that are emitted have the function printed as code instead (codegen/epilogue_source.h).
#pragma once

#include <cstdint>

#include "runtime/device/epilogue.h"

namespace chorale {

// The numbers are those of ExpressionOperator in ir/expression.h.
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
      if (row.op <= 4) {
        stack[++top] = row.op == 0   ? static_cast<R>(row.constant)
                       : row.op == 1 ? element
                       : row.op == 2 ? static_cast<R>(index)
                       : row.op == 3
                           ? loaded<R>(row.operand, index, tensors)
                           : random_at<R>(tensors.seed, static_cast<std::uint32_t>(row.constant), index);
      } else if (row.op <= 11) {
        stack[top] = of_one(row, stack[top]);
      } else if (row.op <= 21) {
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
  CHORALE_DEVICE static R of_one(const ExpressionRow& row, R a) {
    switch (row.op) {
      case 5:
        return -a;
      case 6:
        return root_of(a);
      case 7:
        return exponential(a);
      case 8:
        return logarithm(a);
      case 9:
        return hyperbolic_tangent(a);
      case 10:
        return magnitude(a);
      default:
        return as_stored(row.operand, a);
    }
  }
  template <typename R>
  CHORALE_DEVICE static R of_two(int op, R a, R b) {
    switch (op) {
      case 12:
        return a + b;
      case 13:
        return a - b;
      case 14:
        return a * b;
      case 15:
        return a / b;
      case 16:
        return least(a, b);
      case 17:
        return greatest(a, b);
      case 18:
        return R(a < b);
      case 19:
        return R(a <= b);
      case 20:
        return R(a == b);
      default:
        return power(a, b);
    }
  }
  // By the numbers of ElementType in ir/elements.h.
  template <typename R>
  CHORALE_DEVICE static R as_stored(int type, R a) {
    switch (type) {
      case 0:
        return converted<float>(a);
      case 1:
        return converted<double>(a);
      case 2:
        return converted<std::int32_t>(a);
      case 3:
        return converted<std::int64_t>(a);
      case 4:
        return converted<std::int8_t>(a);
      case 5:
        return converted<std::uint8_t>(a);
      case 6:
        return converted<std::uint32_t>(a);
      case 7:
        return converted<std::uint64_t>(a);
      case 8:
        return converted<Float16>(a);
      default:
        return converted<Bfloat16>(a);
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
