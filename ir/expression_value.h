// What expressions mean, on a host: the one evaluator, of the interpreter of workloads, of runs that check an
// epilogue and of job templates. Executors have the arithmetic of runtime/device/epilogue.h.
#pragma once

#include <array>
#include <cmath>

#include "ir/elements.h"
#include "ir/expression.h"

namespace chorale {

// Of an operator of one value or more, but for Convert, which knows types. What it does not take may be
// anything.
template <typename R>
R value_of(ExpressionOperator op, R a, R b, R c) {
  using Op = ExpressionOperator;
  switch (op) {
    case Op::Negate:
      return -a;
    case Op::Sqrt:
      return std::sqrt(a);
    case Op::Exp:
      return std::exp(a);
    case Op::Log:
      return std::log(a);
    case Op::Tanh:
      return std::tanh(a);
    case Op::Abs:
      return a < R(0) ? -a : a;
    case Op::Add:
      return a + b;
    case Op::Subtract:
      return a - b;
    case Op::Multiply:
      return a * b;
    case Op::Divide:
      return a / b;
    case Op::Min:
      return b < a ? b : a;
    case Op::Max:
      return a < b ? b : a;
    case Op::Less:
      return a < b ? R(1) : R(0);
    case Op::LessEqual:
      return a <= b ? R(1) : R(0);
    case Op::Equal:
      return a == b ? R(1) : R(0);
    case Op::Pow:
      return std::pow(a, b);
    case Op::Select:
      return a != R(0) ? b : c;
    case Op::Constant:
    case Op::Element:
    case Op::Index:
    case Op::Operand:
    case Op::Random:
    case Op::Convert:
      break;
  }
  return R(0);
}

// Of an expression without a flaw (ir/epilogue.h). leaf(node) is what nodes without values stand for;
// converted(type, value) is a value of R rounded to an element type. Throws std::out_of_range for one with
// flaws of form.
template <typename R, typename Leaf, typename Converted>
R value_of(const Expression& expression, Leaf leaf, Converted converted) {
  std::array<R, kMostExpressionNodes> stack;
  std::size_t size = 0;
  for (const ExpressionNode& node : expression) {
    std::array<R, 3> values = {};
    for (int k = arity(node.op); k-- > 0;) values[k] = stack.at(--size);
    stack.at(size++) = arity(node.op) == 0 ? R(leaf(node))
                       : node.op == ExpressionOperator::Convert
                           ? R(converted(static_cast<ElementType>(node.operand), values[0]))
                           : value_of(node.op, values[0], values[1], values[2]);
  }
  return stack.at(size - 1);
}

}  // namespace chorale
