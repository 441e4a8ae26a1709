// A function of elements: numbers, operators, and what is given for each element. Functions that follow sums
// (ir/epilogue.h) and the pointwise operations of workloads (tensor/language/workload.h) are such. C++17:
// kernels on GPUs go through its nodes, too (runtime/device/stack_function.h).
#pragma once

#include <string>
#include <vector>

#include "ir/elements.h"

namespace chorale {

// By how many values they take.
enum class ExpressionOperator {
  Constant,
  Element,  // the one that the function is of
  Index,    // of the element, from 0; along one dimension of its tensor
  Operand,  // what a tensor has for that index
  Random,   // in [0, 1), of the index and the run's seed: the same on every rank
  Negate,   // from here on of one value
  Sqrt,
  Exp,
  Log,
  Tanh,
  Abs,
  Convert,  // rounded to an element type, as if it had been stored
  Add,      // from here on of two
  Subtract,
  Multiply,
  Divide,
  Min,
  Max,
  Less,  // these three: 1 or 0
  LessEqual,
  Equal,
  Pow,
  Select,  // of three: the second where the first is not 0, else the third
};
inline constexpr int kExpressionOperators = static_cast<int>(ExpressionOperator::Select) + 1;

struct ExpressionNode {
  ExpressionOperator op = ExpressionOperator::Constant;
  double constant = 0;  // of Constant: not negative; of Random: which of the streams, an integer
  // Of Operand: which; of Index: the dimension, -1: of all elements in a row; of Convert: the number of an
  // ElementType (ir/elements.h).
  int operand = -1;

  friend bool operator==(const ExpressionNode& a, const ExpressionNode& b) {
    return a.op == b.op && a.constant == b.constant && a.operand == b.operand;
  }
};

// Returns how many values an operator takes.
int arity(ExpressionOperator);

// In the order of a stack machine: each node takes its values from the stack, the last one on top, and puts
// one there; in the end there is one.
using Expression = std::vector<ExpressionNode>;

// Of an expression, and of values on the stack at once.
inline constexpr int kMostExpressionNodes = 256, kDeepestExpression = 16;

}  // namespace chorale
