// Workloads by hand, with their types: for tests of what they mean, which share nothing with what infers
// types.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tensor/language/workload.h"

namespace chorale::test {

inline TensorShape shape(const std::vector<std::int64_t>& sides) {
  TensorShape shape;
  for (std::int64_t side : sides) shape.push_back({.factor = side, .value = side});
  return shape;
}

inline constexpr TensorLayout kReplicated{}, kLocal{.kind = LayoutKind::Local};
inline TensorLayout sliced(int dim) {
  return {.kind = LayoutKind::Sliced, .dim = dim};
}
inline TensorLayout rooted(int root) {
  return {.kind = LayoutKind::Rooted, .root = root};
}

inline TensorType tensor(ElementType element, const std::vector<std::int64_t>& sides,
                         TensorLayout layout = {}) {
  return {.element = element, .shape = shape(sides), .layout = layout};
}
inline TensorType of_groups(TensorType type, int first, int last) {
  type.scope = Scope::Group, type.first_group = first, type.last_group = last;
  return type;
}

inline Operation input(const std::string& name, const TensorType& type) {
  return {.name = name, .type = type};
}
inline Operation does(OperationKind kind, const std::string& name, const std::vector<std::string>& operands,
                      const TensorType& type) {
  return {.kind = kind, .name = name, .operands = operands, .type = type};
}

inline Expression number(double value) {
  return {{.op = ExpressionOperator::Constant, .constant = value}};
}
inline Expression operand(int k) {
  return {{.op = ExpressionOperator::Operand, .operand = k}};
}
inline Expression random_number(int stream) {
  return {{.op = ExpressionOperator::Random, .constant = static_cast<double>(stream)}};
}
template <typename... More>
Expression apply_to(ExpressionOperator op, Expression first, const More&... more) {
  (first.insert(first.end(), more.begin(), more.end()), ...);
  first.push_back({.op = op});
  return first;
}
inline Expression operator+(const Expression& a, const Expression& b) {
  return apply_to(ExpressionOperator::Add, a, b);
}
inline Expression operator-(const Expression& a, const Expression& b) {
  return apply_to(ExpressionOperator::Subtract, a, b);
}
inline Expression operator*(const Expression& a, const Expression& b) {
  return apply_to(ExpressionOperator::Multiply, a, b);
}
inline Expression operator/(const Expression& a, const Expression& b) {
  return apply_to(ExpressionOperator::Divide, a, b);
}

inline Operation pointwise(const std::string& name, const std::vector<std::string>& operands,
                           const TensorType& type, Expression expression) {
  Operation op = does(OperationKind::Pointwise, name, operands, type);
  op.expression = std::move(expression);
  return op;
}
inline Operation updating(Operation op, const std::string& input) {
  op.updates = input;
  return op;
}
inline Operation in_kernel(Operation op, const std::string& kernel) {
  op.kernel = kernel;
  return op;
}
inline Operation overlapped(Operation op, const std::string& overlap) {
  op.overlap = overlap;
  return op;
}

}  // namespace chorale::test
