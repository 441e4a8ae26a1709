// A function of elements as a list of operations on a stack, for what was compiled before the function was
// known. For hosts and for device code, C++17.
//
// A kernel of the `run` command is compiled long before its user writes a function, so it goes through the
// operations, element by element. The stack is as deep as ir/epilogue.h lets an expression be, so nothing is
// tested here. Sources that are emitted have the function printed as code instead
// (codegen/epilogue_source.h).
#pragma once

#include <cstdint>

#include "ir/elements.h"
#include "ir/expression.h"
#include "runtime/device/element_types.h"
#include "runtime/device/epilogue.h"

namespace chorale {

// A tensor of those beside the data.
struct OperandRow {
  ElementType type;
  bool sliced;
  std::int64_t period;  // 0: as long as the data
};

struct StackFunction {
  const ExpressionNode* nodes;  // none: it is not applied
  int count;
  const OperandRow* operands;

  CHORALE_DEVICE bool applies() const { return count > 0; }

  template <typename R, typename Tensors>
  CHORALE_DEVICE R value(R element, std::int64_t index, const Tensors& tensors) const {
    R stack[kDeepestExpression] = {};
    int top = -1;
    for (int i = 0; i < count; ++i) {
      const ExpressionNode& node = nodes[i];
      if (node.op < Op::Negate) {
        stack[++top] = given(node, element, index, tensors);
      } else if (node.op < Op::Add) {
        stack[top] = of_one(node, stack[top]);
      } else if (node.op < Op::Select) {
        --top;
        stack[top] = of_two(node.op, stack[top], stack[top + 1]);
      } else {
        top -= 2;
        stack[top] = chosen(stack[top], stack[top + 1], stack[top + 2]);
      }
    }
    return stack[0];
  }

 private:
  using Op = ExpressionOperator;

  template <typename R, typename Tensors>
  CHORALE_DEVICE R given(const ExpressionNode& node, R element, std::int64_t index,
                         const Tensors& tensors) const {
    switch (node.op) {
      case Op::Constant:
        return static_cast<R>(node.constant);
      case Op::Element:
        return element;
      case Op::Index:
        return static_cast<R>(index);
      case Op::Operand:
        return with_type(operands[node.operand].type,
                         [&](auto zero) { return loaded<R, decltype(zero)>(node.operand, index, tensors); });
      default:
        return random_at<R>(tensors.seed, static_cast<std::uint32_t>(node.constant), index);
    }
  }
  template <typename R>
  CHORALE_DEVICE static R of_one(const ExpressionNode& node, R a) {
    switch (node.op) {
      case Op::Negate:
        return -a;
      case Op::Sqrt:
        return root_of(a);
      case Op::Exp:
        return exponential(a);
      case Op::Log:
        return logarithm(a);
      case Op::Tanh:
        return hyperbolic_tangent(a);
      case Op::Abs:
        return magnitude(a);
      default:
        return with_type(static_cast<ElementType>(node.operand),
                         [a](auto zero) { return converted<decltype(zero)>(a); });
    }
  }
  template <typename R>
  CHORALE_DEVICE static R of_two(Op op, R a, R b) {
    switch (op) {
      case Op::Add:
        return a + b;
      case Op::Subtract:
        return a - b;
      case Op::Multiply:
        return a * b;
      case Op::Divide:
        return a / b;
      case Op::Min:
        return least(a, b);
      case Op::Max:
        return greatest(a, b);
      case Op::Less:
        return R(a < b);
      case Op::LessEqual:
        return R(a <= b);
      case Op::Equal:
        return R(a == b);
      default:
        return power(a, b);
    }
  }

  template <typename R, typename T, typename Tensors>
  CHORALE_DEVICE R loaded(int operand, std::int64_t index, const Tensors& tensors) const {
    const OperandRow& row = operands[operand];
    if (row.sliced) return tensors.template sliced<R, T>(operand, index);
    return tensors.template whole<R, T>(operand, row.period > 0 ? index % row.period : index);
  }
};

template <>
inline constexpr bool is_interpreted<StackFunction> = true;

}  // namespace chorale
