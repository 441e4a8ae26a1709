#include "tensor/language/draft.h"

#include <fmt/format.h>

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

}  // namespace chorale
