// A term is an expression in postfix order whose operands are named: terms are joined by appending, and equal
// names become one operand.
#include "ir/term.h"

#include <algorithm>

namespace chorale {
namespace {

using Op = ExpressionOperator;

// Operand numbers of `more` are replaced by those of the term, which gets the names that it lacks.
void append(Term& term, const Term& more) {
  for (ExpressionNode node : more.expression) {
    if (node.op == Op::Operand) {
      const std::string& name = more.operands[node.operand];
      const auto it = std::ranges::find(term.operands, name);
      node.operand = static_cast<int>(it - term.operands.begin());
      if (it == term.operands.end()) term.operands.push_back(name);
    }
    term.expression.push_back(node);
  }
}

}  // namespace

// Constants are not negative in expressions, so that each has one text form.
Term number_term(double value) {
  if (value < 0) return applied(Op::Negate, {number_term(-value)});
  return {.expression = {{.op = Op::Constant, .constant = value}}};
}

Term operand_term(const std::string& name) {
  return {.expression = {{.op = Op::Operand, .operand = 0}}, .operands = {name}};
}

Term random_term(double stream) {
  return {.expression = {{.op = Op::Random, .constant = stream}}};
}

Term index_term(int dimension) {
  return {.expression = {{.op = Op::Index, .operand = dimension}}};
}

// Postfix: the values, then the operator.
Term applied(ExpressionOperator op, const std::vector<Term>& values) {
  Term result;
  for (const Term& value : values) append(result, value);
  result.expression.push_back({.op = op});
  return result;
}

// The number of the type is kept where other nodes have the number of an operand.
Term converted(ElementType type, const Term& value) {
  Term result = applied(Op::Convert, {value});
  result.expression.back().operand = static_cast<int>(type);
  return result;
}

Term relu_term(const Term& value) {
  return applied(Op::Max, {value, number_term(0)});
}

// Select(Random(stream) < p, 0, value x 1/(1-p)): the mean stays.
Term dropout_term(const Term& value, double probability, double stream) {
  const Term drops = applied(Op::Less, {random_term(stream), number_term(probability)});
  return applied(Op::Select,
                 {drops, number_term(0), applied(Op::Multiply, {value, number_term(1 / (1 - probability))})});
}

// Node by node: a name becomes its term, which is a value of its own in postfix order. Names in the new terms
// are not replaced again.
Term substituted(const Term& term, const std::vector<std::string>& names, const std::vector<Term>& values) {
  Term result;
  for (const ExpressionNode& node : term.expression) {
    const Term leaf = node.op == Op::Operand ? operand_term(term.operands[node.operand]) : Term{{node}, {}};
    const auto name = leaf.operands.empty() ? names.end() : std::ranges::find(names, leaf.operands.front());
    append(result, name == names.end() ? leaf : values[name - names.begin()]);
  }
  return result;
}

}  // namespace chorale
