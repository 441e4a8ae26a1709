// Functions of rows that are composed of reductions along a dimension and pointwise operations: means,
// softmax, norms. Sums and what they are of are in float32 for 16-bit floats and integers. Fusing what they
// are composed of makes one pass of it (tensor/language/kernels.h).
#include <algorithm>

#include "tensor/language/draft.h"
#include "tensor/language/infer.h"

namespace chorale {
namespace {

using Op = ExpressionOperator;

// The last dimension; of a scalar 0, which reductions refuse.
int last_of(const TensorType& type) {
  return std::max(0, static_cast<int>(type.shape.size()) - 1);
}

ElementType summed_in(ElementType type) {
  return type == ElementType::Float64 ? type : ElementType::Float32;
}
// A norm of integers is real.
Term as_given(ElementType type, const Term& term) {
  return converted(type == ElementType::Int32 ? ElementType::Float32 : type, term);
}
Term root_of(const Term& mean_of_squares, double epsilon) {
  return applied(Op::Sqrt, {applied(Op::Add, {mean_of_squares, number_term(epsilon)})});
}

}  // namespace

Term Draft::rounded(ElementType type, const Term& term, const std::string& base, const std::string& where) {
  Operation operation = pointwise(fresh(base), term);
  operation.casts = true;
  operation.type.element = type;
  const std::string name = operation.name;
  add(std::move(operation), where);
  return operand_term(name);
}

// Cut along the dimension, ranks have summands after the first reduction (or the largest of a part, for
// Max).
Term Draft::reduced(ReduceOp op, const Term& term, int dim, const std::string& base,
                    const std::string& where) {
  const std::string name = named(term, base, where);
  Operation along{.kind = OperationKind::ReduceAlong,
                  .name = fresh(base),
                  .operands = {name},
                  .reduction = op,
                  .dims = {dim}};
  std::string result = along.name;
  add(std::move(along), where);
  const TensorLayout layout = operation(workload, name).type.layout;
  if (layout.kind == LayoutKind::Sliced && layout.dim == dim) {
    Operation all{
        .kind = OperationKind::AllReduce, .name = fresh(base), .operands = {result}, .reduction = op};
    result = all.name;
    add(std::move(all), where);
  }
  return operand_term(result);
}

// Summands are converted before they are added up, the sum is divided in the wider type.
Term Draft::mean(const Term& term, int dim, const std::string& base, const std::string& where) {
  const std::string name = named(term, base, where);
  const TensorType type = operation(workload, name).type;
  const ElementType sums = summed_in(type.element);
  const Term summands =
      sums == type.element ? operand_term(name) : rounded(sums, operand_term(name), base, where);
  const Term sum = reduced(ReduceOp::Sum, summands, dim, base, where);
  return applied(Op::Divide, {sum, side(type.shape[dim])});
}

// As a product of size operands, and not as a number: emitted programs take other sizes when they run.
Term Draft::side(const Extent& extent) {
  std::vector<Term> factors;
  if (extent.factor != 1 || extent.sizes.empty())
    factors.push_back(number_term(static_cast<double>(extent.factor)));
  for (const std::string& name : extent.sizes) factors.push_back(size(name));
  Term product = factors[0];
  for (std::size_t k = 1; k < factors.size(); ++k) product = applied(Op::Multiply, {product, factors[k]});
  return product;
}

// Shifted by the largest element, so that no power overflows; the shift cancels in the quotient.
Term Draft::softmax(const Term& term, int dim, const std::string& base, const std::string& where) {
  const Term x = operand_term(named(term, base, where));
  const ElementType type = operation(workload, x.operands[0]).type.element;
  const Term most = reduced(ReduceOp::Max, x, dim, base, where);
  const Term powers =
      rounded(summed_in(type), applied(Op::Exp, {applied(Op::Subtract, {x, most})}), base, where);
  const Term sum = reduced(ReduceOp::Sum, powers, dim, base, where);
  return as_given(type, applied(Op::Divide, {powers, sum}));
}

// Zhang and Sennrich 2019: no mean is subtracted, so one reduction is enough.
Term Draft::rms_norm(const Term& term, const Term& weight, double epsilon, const std::string& base,
                     const std::string& where) {
  const Term x = operand_term(named(term, base, where));
  const TensorType type = operation(workload, x.operands[0]).type;
  const Term squares = rounded(summed_in(type.element), applied(Op::Multiply, {x, x}), base, where);
  const Term mean_of_squares = mean(squares, last_of(type), base, where);
  return as_given(
      type.element,
      applied(Op::Multiply, {applied(Op::Divide, {x, root_of(mean_of_squares, epsilon)}), weight}));
}

// The variance is of centered elements, in two passes: E[x^2] - E[x]^2 cancels badly in float32.
Term Draft::layer_norm(const Term& term, const Term& weight, const Term& bias, double epsilon,
                       const std::string& base, const std::string& where) {
  const Term x = operand_term(named(term, base, where));
  const TensorType type = operation(workload, x.operands[0]).type;
  const int last = last_of(type);
  const ElementType sums = summed_in(type.element);
  const Term centered = rounded(sums, applied(Op::Subtract, {x, mean(x, last, base, where)}), base, where);
  const Term squares = rounded(sums, applied(Op::Multiply, {centered, centered}), base, where);
  const Term variance = mean(squares, last, base, where);
  const Term unit = applied(Op::Divide, {centered, root_of(variance, epsilon)});
  return as_given(type.element, applied(Op::Add, {applied(Op::Multiply, {unit, weight}), bias}));
}

}  // namespace chorale
