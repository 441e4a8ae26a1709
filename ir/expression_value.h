// What operators of expressions mean, of values that have been found: for whoever goes through an expression on a host.
#pragma once

#include <cmath>

#include "ir/expression.h"

namespace chorale {

// Of an operator of one value or more, but for Convert, which knows types. What it does not take may be anything.
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
      return std::abs(a);
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

}  // namespace chorale
