// A workload as a text states it: each operation is given its type as it comes, and what is
// short for several operations becomes these.
#pragma once

#include <map>
#include <set>
#include <string>

#include "ir/term.h"
#include "tensor/language/workload.h"

namespace chorale {

class Draft {
 public:
  Workload workload = {};
  std::set<std::string> taken = {};                // names that temporary operations may not have
  std::map<std::string, std::string> places = {};  // where each operation stands
  std::string kernel = {}, overlap = {};           // of what is added, inputs apart

  std::string statement = {};  // that is read: errors call what is made for it so

  // Throws InputError, which names `where`.
  void add(Operation, const std::string& where);
  // "avg_1", an unused name, which is reserved from now on.
  std::string fresh(const std::string& base);
  // The name of an operation that computes the term: its own, if it is one's result, or that of a new one.
  std::string named(const Term&, const std::string& base, const std::string& where);
  // RANK, GROUP or WORLD.
  Term constant(OperationKind);
  Term size(const std::string& name);  // as a number
  // The root of the sum of the squares, of all ranks' where they have slices; in float32 for 16-bit floats
  // and integers.
  Term norm(const Term&, const std::string& base, const std::string& where);

  Term side(const Extent&);  // as a number
  // In draft.cpp, as side() is, of a tensor that has the dimension. Where it is cut along that,
  // ranks add up.
  Term reduced(ReduceOp, const Term&, int dim, const std::string& base, const std::string& where);
  Term mean(const Term&, int dim, const std::string& base, const std::string& where);
  Term softmax(const Term&, int dim, const std::string& base, const std::string& where);
  // Along the last dimension: x / Sqrt(mean(x * x) + epsilon) * weight, and (x - mean(x)) / Sqrt(variance +
  // epsilon) * weight + bias.
  Term rms_norm(const Term&, const Term& weight, double epsilon, const std::string& base,
                const std::string& where);
  Term layer_norm(const Term&, const Term& weight, const Term& bias, double epsilon, const std::string& base,
                  const std::string& where);

 private:
  // An operation that computes the term in the type.
  Term rounded(ElementType, const Term&, const std::string& base, const std::string& where);
};

// The operation that computes the term.
Operation pointwise(const std::string& name, const Term&);

}  // namespace chorale
