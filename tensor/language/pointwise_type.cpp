// Pointwise operations: shapes broadcast, elements are promoted, and operands that all ranks have adapt to
// the layout of the others, each rank reading what it needs. What is left to refuse are operands that no rank
// has the same part of.
//
// Elements: as in PyTorch, a tensor's type counts more than a scalar's, and a scalar's more than a number's,
// unless the less important one is real and the more important one whole. So lr * g stays fp16 for a scalar
// lr of fp32.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/epilogue.h"
#include "tensor/language/infer.h"
#include "tensor/language/typing.h"

namespace chorale {
namespace {

using Op = ExpressionOperator;

enum class Weight { Number, Scalar, Tensor };
struct Promotion {
  ElementType element = ElementType::Int32;
  Weight weight = Weight::Number;
};

// The heavier operand decides: a tensor's fp16 stands against a scalar's fp32. Among equals the types are
// promoted.
Promotion together(Promotion a, Promotion b) {
  if (a.weight < b.weight) std::swap(a, b);
  if (a.weight == b.weight) return {promoted(a.element, b.element), a.weight};
  const bool gives_way = a.element == ElementType::Int32 && b.element != ElementType::Int32;
  return {gives_way ? b.element : a.element, a.weight};
}

// 3 is an integer and 2.5 is not; 3.0 is written like 3. Beyond int32 a number is real.
Promotion of_number(double value) {
  const bool whole = value == std::floor(value) && value <= std::numeric_limits<std::int32_t>::max();
  return {whole ? ElementType::Int32 : ElementType::Float32, Weight::Number};
}

Promotion real(Promotion a) {
  if (a.element == ElementType::Int32) a.element = ElementType::Float32;
  return a;
}

// Functions of real numbers, and division, make integers real: Sqrt(n), n / 2. Comparisons give 0 or 1 as
// int32. Select takes its type from what is chosen between, not from the condition.
Promotion result_of(const ExpressionNode& node, const std::vector<Promotion>& values) {
  switch (node.op) {
    case Op::Sqrt:
    case Op::Exp:
    case Op::Log:
    case Op::Tanh:
      return real(values[0]);
    case Op::Negate:
    case Op::Abs:
      return values[0];
    case Op::Convert:
      return {static_cast<ElementType>(node.operand), std::max(values[0].weight, Weight::Scalar)};
    case Op::Divide:
      return real(together(values[0], values[1]));
    case Op::Less:
    case Op::LessEqual:
    case Op::Equal:
      return {ElementType::Int32, std::max(values[0].weight, values[1].weight)};
    case Op::Select:
      return together(values[1], values[2]);
    default:
      return together(values[0], values[1]);
  }
}

// Index and Random are not tensors: they take the type of what they are combined with.
Promotion of_leaf(const Typing& typing, const ExpressionNode& node) {
  if (node.op == Op::Constant) return of_number(node.constant);
  if (node.op == Op::Index) return {ElementType::Int32, Weight::Number};
  if (node.op == Op::Random) return {ElementType::Float32, Weight::Number};
  const TensorType& type = *typing.operands[node.operand];
  return {type.element, type.shape.empty() ? Weight::Scalar : Weight::Tensor};
}

// Requires an expression without a flaw.
// The expression is postfix: operators take their values from the end of the stack.
ElementType element_of(const Typing& typing) {
  std::vector<Promotion> stack;
  for (const ExpressionNode& node : typing.operation.expression) {
    const std::vector<Promotion> values(stack.end() - arity(node.op), stack.end());
    stack.resize(stack.size() - values.size());
    stack.push_back(values.empty() ? of_leaf(typing, node) : result_of(node, values));
  }
  return stack.back().element;
}

// Reads of the elements themselves, which epilogues have (ir/epilogue.h), have no meaning here: all values
// are operands.
MaybeError require_expression(const Typing& typing) {
  const Operation& operation = typing.operation;
  Epilogue limits{.expression = operation.expression};
  for (std::size_t k = 0; k < operation.operands.size(); ++k)
    limits.operands.push_back({.name = fmt::format("o{}", k)});
  if (operation.expression.empty()) return typing.fail("computes nothing: it has no expression");
  if (const std::string what = flaw(limits); !what.empty())
    return typing.fail(
        fmt::format("its expression {}", what),
        fmt::format("the most are {} operators and values, {} of them at once, and {} operands: make several "
                    "statements of it",
                    kMostExpressionNodes, kDeepestExpression, kMostOperands));
  for (const ExpressionNode& node : operation.expression) {
    if (node.op == Op::Element || (node.op == Op::Index && node.operand < 0))
      return typing.fail("its expression is of an element or an index",
                         "programs have operands, and Index(dimension)");
    if (node.op == Op::Convert && !is_workload_type(static_cast<ElementType>(node.operand)))
      return typing.fail("its expression converts to a type that programs have not",
                         "use fp64, fp32, fp16, bf16, e4m3, e5m2 or int32");
  }
  return {};
}

// `from` remembers which operand gave a side, so that an error names the two that differ and not the last
// one.
OrError<TensorShape> broadcast_shape(const Typing& typing) {
  TensorShape shape;
  std::vector<std::size_t> from;  // operand that gave each side, from the last one on
  for (std::size_t k = 0; k < typing.operands.size(); ++k) {
    const TensorShape& other = typing.operands[k]->shape;
    for (std::size_t back = 0; back < other.size(); ++back) {
      const Extent& side = other[other.size() - 1 - back];
      if (back == shape.size()) {
        shape.insert(shape.begin(), side);
        from.push_back(k);
        continue;
      }
      Extent& mine = shape[shape.size() - 1 - back];
      if (mine.value == 1 && side.value != 1) {
        mine = side;
        from[back] = k;
      } else if (side.value != 1 && side.value != mine.value) {
        return typing.fail(fmt::format("{} and {} do not broadcast: {} is not {}, counted from the last side",
                                       typing.shown_operand(from[back]), typing.shown_operand(k),
                                       to_string(side), to_string(mine)),
                           "sides have to be the same, or 1, or not there");
      }
    }
  }
  return shape;
}

MaybeError require_indices(const Typing& typing, const TensorShape& shape) {
  for (const ExpressionNode& node : typing.operation.expression)
    if (node.op == Op::Index && node.operand >= static_cast<int>(shape.size()))
      return typing.fail(
          fmt::format("Index({}) is along a dimension, counted from 0, that its result {} does not have",
                      node.operand, to_string(shape)),
          "choose one that it has");
  return {};
}

// Requires layouts of two kinds, neither of them Replicated.
[[nodiscard]] InputError fail_mixed(const Typing& typing, std::size_t a, std::size_t b) {
  const auto has = [&](LayoutKind kind) {
    return typing.operands[a]->layout.kind == kind || typing.operands[b]->layout.kind == kind;
  };
  const std::string both = fmt::format("{} and {}", typing.shown_operand(a), typing.shown_operand(b));
  if (!has(LayoutKind::Rooted))
    return typing.fail(fmt::format("{}: of one, a rank has a slice, of the other, a tensor of its own", both),
                       "ReduceScatter the Local one, or AllGather the sliced one");
  if (has(LayoutKind::Sliced))
    return typing.fail(fmt::format("{}: one lies on one rank, the other in slices on all", both),
                       "Broadcast the rooted one, or AllGather the sliced one");
  return typing.fail(fmt::format("{}: one lies on one rank, of the other each rank has its own", both),
                     "Broadcast the rooted one, or Reduce the Local one to the same root");
}

// Compared as in the result: [H] Sliced(0) and [B, S, H] Sliced(2) are the same slices.
MaybeError fail_unless_same(const Typing& typing, std::size_t a, std::size_t b, int dimensions) {
  const TensorType &first = *typing.operands[a], &second = *typing.operands[b];
  if (first.layout.kind != second.layout.kind) return fail_mixed(typing, a, b);
  const auto in_result = [&](const TensorType& type) {
    return aligned(type.layout, static_cast<int>(type.shape.size()), dimensions);
  };
  if (in_result(first) == in_result(second)) return {};
  const std::string both = fmt::format("{} and {}", typing.shown_operand(a), typing.shown_operand(b));
  if (first.layout.kind == LayoutKind::Rooted)
    return typing.fail(fmt::format("{} lie on two ranks", both), "Broadcast one of them");
  return typing.fail(fmt::format("{} have other slices", both),
                     "AllGather one of them, or slice both equally");
}

// A slice of an operand that is broadcast along the sliced side, or along any if it is flat, is not that of
// the result.
MaybeError require_slices_of(const Typing& typing, std::size_t k, const TensorShape& shape) {
  const TensorType& type = *typing.operands[k];
  const int dimensions = static_cast<int>(type.shape.size());
  const int dim = aligned(type.layout, dimensions, static_cast<int>(shape.size())).dim;
  const bool fits = type.layout.dim == kFlat ? same_sides(type.shape, shape)
                                             : type.shape[type.layout.dim].value == shape[dim].value;
  if (!fits)
    return typing.fail(fmt::format("{} is broadcast to {} along what it is sliced along",
                                   typing.shown_operand(k), to_string(shape)),
                       "AllGather it, so that each rank has what it needs of it");
  return {};
}

// Replicated operands adapt to any layout. All others have to have one layout, the result's; a slice that is
// broadcast has to be one of the result as well.
OrError<TensorLayout> common_layout(const Typing& typing, const TensorShape& shape) {
  const int dimensions = static_cast<int>(shape.size());
  int first = -1;
  for (std::size_t k = 0; k < typing.operands.size(); ++k) {
    if (typing.operands[k]->layout.kind == LayoutKind::Replicated) continue;
    if (first < 0) first = static_cast<int>(k);
    if (auto error = fail_unless_same(typing, first, k, dimensions)) return *error;
    if (typing.operands[k]->layout.kind != LayoutKind::Sliced) continue;
    if (auto error = require_slices_of(typing, k, shape)) return *error;
  }
  if (first < 0) return TensorLayout{};
  const TensorType& type = *typing.operands[first];
  return normal(aligned(type.layout, static_cast<int>(type.shape.size()), dimensions), dimensions);
}

}  // namespace

// Each check needs those before it: shapes an expression without flaws, layouts the shape that they are of.
OrError<TensorType> pointwise_type(const Typing& typing) {
  if (auto error = require_expression(typing)) return *error;
  const OrError<TensorType> scope = scoped(typing);
  if (!scope) return scope;
  TensorType result = *scope;
  const OrError<TensorShape> shape = broadcast_shape(typing);
  if (!shape) return shape.error();
  result.shape = typing.operation.shape.empty() ? *shape : typing.operation.shape;
  if (!broadcasts(*shape, result.shape))
    return typing.fail(fmt::format("{} does not broadcast to {}", to_string(*shape), to_string(result.shape)),
                       "sides have to be the same, or 1, or not there");
  if (auto error = require_indices(typing, result.shape)) return *error;
  const OrError<TensorLayout> layout = common_layout(typing, result.shape);
  if (!layout) return layout.error();
  result.layout = *layout;
  result.element = typing.operation.casts ? typing.operation.type.element : element_of(typing);
  if (!is_workload_type(result.element))
    return typing.fail("is cast to a type that programs have not",
                       "use fp64, fp32, fp16, bf16, e4m3, e5m2 or int32");
  return result;
}

}  // namespace chorale
