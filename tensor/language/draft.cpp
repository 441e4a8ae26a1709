
#include "tensor/language/draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "tensor/language/infer.h"
#include "tensor/language/names.h"

namespace chorale {

// Typed before it is kept. Its error names the statement that is read, not a temporary operation's name,
// which the user never wrote.
void Draft::add(Operation operation, const std::string& where) {
  if (workload.operations.size() >= kMostOperations)
    throw InputError(where, "one operation too many", fmt::format("{} are the most", kMostOperations));
  if (!is_given(operation.kind)) {
    operation.kernel = kernel;
    operation.overlap = overlap;
  }
  const std::string name = operation.name;
  if (!statement.empty() && !is_given(operation.kind)) operation.name = statement;
  operation.type = inferred_type(workload, operation, where).or_throw();
  operation.name = name;
  places[operation.name] = where;
  taken.insert(operation.name);
  workload.operations.push_back(std::move(operation));
}

// Cut to leave room for the number, since names have a longest length.
std::string Draft::fresh(const std::string& base) {
  const std::string begin = base.substr(0, kLongestName - 10) + (base.ends_with('_') ? "" : "_");
  for (int number = 1;; ++number)
    if (const std::string name = fmt::format("{}{}", begin, number); taken.insert(name).second) return name;
}

// An operand by itself has a name already; only what computes something becomes an operation.
std::string Draft::named(const Term& term, const std::string& base, const std::string& where) {
  if (term.expression.size() == 1 && term.operands.size() == 1) return term.operands.front();
  const std::string name = fresh(base);
  add(pointwise(name, term), where);
  return name;
}

// Added when it is first read, and once: all readers share it.
Term Draft::constant(OperationKind kind) {
  const std::string name = to_string(kind);
  if (find(workload, name) == nullptr) add({.kind = kind, .name = name}, name);
  return operand_term(name);
}

Term Draft::size(const std::string& name) {
  if (find(workload, name) == nullptr) add({.kind = OperationKind::Size, .name = name}, name);
  return operand_term(name);
}

// In float32 at least: the squares of fp16 above 255 are beyond its range, and sums lose digits.
Term Draft::norm(const Term& term, const std::string& base, const std::string& where) {
  const std::string name = named(term, base, where);
  const TensorType type = operation(workload, name).type;
  Operation squares =
      pointwise(fresh(base), applied(ExpressionOperator::Multiply, {operand_term(name), operand_term(name)}));
  if (type.element != ElementType::Float64) {
    squares.casts = true;
    squares.type.element = ElementType::Float32;
  }
  add(squares, where);
  Operation sum{.kind = OperationKind::ReduceTensor, .name = fresh(base), .operands = {squares.name}};
  add(sum, where);
  // Each rank has the sum of its slice; scalars of all ranks are added up.
  if (type.layout.kind == LayoutKind::Sliced) {
    sum = {.kind = OperationKind::AllReduce, .name = fresh(base), .operands = {sum.name}};
    add(sum, where);
  }
  return applied(ExpressionOperator::Sqrt, {operand_term(sum.name)});
}

Operation pointwise(const std::string& name, const Term& term) {
  return {.kind = OperationKind::Pointwise,
          .name = name,
          .operands = term.operands,
          .expression = term.expression};
}

// Functions of rows that are composed of reductions along a dimension and pointwise operations: means,
// softmax, norms. Sums and what they are of are in float32 for 16-bit floats and integers. Fusing what they
// are composed of makes one pass of it (kernels.h).

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
