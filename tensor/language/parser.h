// Reads the text form, in parts: statements (parser.cpp), names and calls in expressions, whose grammar is in
// ir/expression_text.h, and calls of operations (both parse_expression.cpp).
//
// Recursive descent; docs/workloads.md has the grammar, and each function is a rule of it. Types are inferred
// as operations come, since what is short for several may depend on them (Norm). Nothing separates
// statements: each begins with a name or a word of its own, which nothing else goes on with.
//
// A call of an operation inside an expression becomes an operation with a name of its own. Where it is all of
// the statement, it is given the statement's name.
//
// An operator of the user is parsed once, with its parameters as operands "%0", "%1", and random numbers of
// streams that are counted down from -1; where it is applied, both are replaced. So however operators are
// nested, each costs no more than what it stands for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/expression_text.h"
#include "tensor/language/operation_forms.h"
#include "tensor/language/text.h"
#include "tensor/language/workload.h"

namespace chorale {

// A workload as a text states it: each operation is given its type as it comes, and what is
// short for several operations becomes these.
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
  // Of a tensor that has the dimension. Where it is cut along that,
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

class WorkloadParser : ExpressionReader {
 public:
  WorkloadParser(std::string_view text, const std::string& file, const WorkloadSettings& settings)
      : ExpressionReader(text, file, false), settings_(settings) {
    check_all_words();
  }
  Workload parse();

 private:
  struct Operator {
    std::string name = {};
    int parameters = 0;
    Term term = {};
    int streams = 0;
  };

  // Words.
  std::string new_name(const std::string& what);
  // One that no error of the whole program is about.
  std::string private_name(const std::string& what);
  // Names that temporary operations may not take, and streams of random numbers that dropouts may not.
  void check_all_words();

  // Heading, sizes, declarations.
  void heading();
  std::vector<std::string> size_names() const;
  // size NAME = product {"," NAME = product}
  void sizes();
  void size();
  // factor {"*" factor | "/" power}; a factor is a number, a power of one, or a size.
  Extent product(bool may_be_zero = false);
  std::int64_t power(std::int64_t least = 1);
  // Of WORLD, RANKS and what loops count; none: it is no number.
  std::optional<std::int64_t> number_named(std::string_view name) const;
  bool is_there(const std::string& name) const;  // an operation, a size, or what an open loop counts
  std::int64_t multiplied(const Token& token, std::int64_t a, std::int64_t b) const;
  std::int64_t size_value(const Token& token) const;
  // Tensor NAME(element, [sides], layout) and Scalar NAME(element) or (element, layout)
  void declaration();
  ElementType element() override;
  TensorShape shape();
  void layout(TensorType& type);
  void groups(TensorType& type);
  TensorLayout sliced();

  // Statements.
  void statement();
  void block();
  // NAME = expression
  void assignment();
  void rename_last();
  // loop NAME = bound .. bound {"," NAME = NAME} { assignments and loops }
  void loop();
  std::int64_t bound();  // product [("+" | "-") number]
  void iterate(std::size_t begin);
  std::string unrolled(const std::string& name);
  void drop_unread();
  void outputs();
  // op NAME(parameters) = expression
  void operator_definition();
  const Operator* find_operator(std::string_view name) const;

  // Expressions.
  Term name() override;
  // The name of an operation that is there.
  std::string operand(const Token& token) const;
  Value call(const Token& token) override;
  std::vector<std::string> call_names() const override;
  Value of_rows_call(const Token& token);
  Value dropout(const Token& token);
  Value apply_operator(const Token& token, const Operator& user);

  // Operations.
  void add(Operation operation, const Token& token) { draft_.add(std::move(operation), place(file_, token)); }
  std::string tensor_argument(const Token& token);
  Value update(const Token& token);
  Value made(Operation operation, const Token& token);
  Value operation_call(const Token& token, OperationKind kind);
  ReduceOp reduction();
  int dimension();
  void read(ArgumentKind, Operation&, const Token&);
  // {"," ("stride" | "padding") "=" number}
  void windows(Operation& operation);
  Scope scope(bool may_be_across);
  void shift(Operation& operation);

  const WorkloadSettings& settings_;
  Draft draft_ = {};
  std::string name_ = {};  // of the statement
  std::vector<Operator> operators_ = {};
  std::vector<std::string> parameters_ = {};  // of the operator that is defined
  struct Loop {
    std::string name = {};
    std::int64_t at = 0, last = 0;
  };
  std::vector<Loop> loops_ = {};                    // that are open, the outermost first
  std::map<std::string, std::string> called_ = {};  // what names in loops mean, where another operation
  std::size_t iterations_ = 0;                      // of all loops
  std::vector<std::pair<std::size_t, std::size_t>> unrolled_ = {};  // operations that the outermost made
  bool in_operator_ = false;
  int streams_ = 0;               // of the operator that is defined
  std::int64_t next_stream_ = 0;  // of random numbers
};

}  // namespace chorale
