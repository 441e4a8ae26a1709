// Expressions over named values as they grow, in texts and in C++.
#pragma once

#include <string>
#include <vector>

#include "ir/elements.h"
#include "ir/expression.h"

namespace chorale {

// Names are of operations, tensors or numbers, each once; Operand k of the expression is operands[k].
struct Term {
  Expression expression = {};
  std::vector<std::string> operands = {};
};

Term number_term(double);  // also a negative one
Term operand_term(const std::string& name);
Term random_term(double stream);
Term index_term(int dimension);                              // of the result
Term applied(ExpressionOperator, const std::vector<Term>&);  // as many as its arity
Term converted(ElementType, const Term&);
Term relu_term(const Term&);
// Returns zero with the probability, else as much more; random numbers of the stream.
Term dropout_term(const Term&, double probability, double stream);

// Returns the term with each operand of these names replaced.
Term substituted(const Term&, const std::vector<std::string>& names, const std::vector<Term>& values);

}  // namespace chorale
