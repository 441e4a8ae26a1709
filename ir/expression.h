// A function of elements: numbers, operators, and what is given for each element. Functions that follow sums
// (ir/epilogue.h) and the pointwise operations of workloads (tensor/language/workload.h) are such. C++17:
// kernels on GPUs go through its nodes, too (runtime/device/stack_function.h).
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/elements.h"
#include "ir/named.h"

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

// What expressions call types, functions and operators in texts, for the reader and the printer. Types of
// elements: workloads have the first seven.
inline constexpr Named<ElementType> kElementWords[] = {
    {ElementType::Float64, "fp64"},  {ElementType::Float32, "fp32"},    {ElementType::Float16, "fp16"},
    {ElementType::Bfloat16, "bf16"}, {ElementType::Float8E4m3, "e4m3"}, {ElementType::Float8E5m2, "e5m2"},
    {ElementType::Int32, "int32"},   {ElementType::Int64, "int64"},     {ElementType::Int8, "int8"},
    {ElementType::Uint8, "uint8"},   {ElementType::Uint32, "uint32"},   {ElementType::Uint64, "uint64"}};
inline constexpr int kWorkloadElementWords = 7;

// With their values in parentheses; between two values.
inline constexpr Named<ExpressionOperator> kFunctionWords[] = {
    {ExpressionOperator::Sqrt, "Sqrt"},    {ExpressionOperator::Exp, "Exp"},
    {ExpressionOperator::Log, "Log"},      {ExpressionOperator::Tanh, "Tanh"},
    {ExpressionOperator::Abs, "Abs"},      {ExpressionOperator::Min, "Min"},
    {ExpressionOperator::Max, "Max"},      {ExpressionOperator::Pow, "Pow"},
    {ExpressionOperator::Select, "Select"}};
inline constexpr Named<ExpressionOperator> kOperatorWords[] = {
    {ExpressionOperator::Add, "+"},      {ExpressionOperator::Subtract, "-"},
    {ExpressionOperator::Multiply, "*"}, {ExpressionOperator::Divide, "/"},
    {ExpressionOperator::Less, "<"},     {ExpressionOperator::LessEqual, "<="},
    {ExpressionOperator::Equal, "=="}};

// Returns the value that a table has for the word, or none.
template <typename Value, std::size_t n>
std::optional<Value> meaning(const Named<Value> (&table)[n], std::string_view word) {
  return value_in(std::span<const Named<Value>>(table), word);
}

// Is there a row for the value?
template <typename Value, std::size_t n>
bool has_word(const Named<Value> (&table)[n], Value value) {
  return std::ranges::find(table, value, &Named<Value>::value) != std::ranges::end(table);
}
template <typename Value, std::size_t n>
std::string word_for(const Named<Value> (&table)[n], Value value) {
  return name_in(std::span<const Named<Value>>(table), value);
}

}  // namespace chorale
