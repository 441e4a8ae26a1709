// The reader of the text form, in parts: statements (workload/parser.cpp), expressions (workload/parse_expression.cpp), and
// calls of operations (workload/parse_operation.cpp).
//
// Recursive descent; docs/workloads.md has the grammar, and each function is a rule of it. Types are
// inferred as operations come, since what is short for several may depend on them (Norm). Nothing separates statements: each
// begins with a name or a word of its own, which nothing else goes on with.
//
// A call of an operation inside an expression becomes an operation with a name of its own. Where it is all of the
// statement, it is given the statement's name.
//
// An operator of the user is parsed once, with its parameters as operands "%0", "%1", and random numbers of streams that
// are counted down from -1; where it is applied, both are replaced. So however operators are nested, each costs no more than
// what it stands for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workload/draft.h"
#include "workload/term.h"
#include "workload/text.h"
#include "workload/tokens.h"

namespace chorale {

class WorkloadParser {
 public:
  WorkloadParser(std::string_view text, const std::string& file, const WorkloadSettings& settings)
      : file_(file), settings_(settings), tokens_(tokens(text, file)) {
    look_at_all_words();
  }
  Workload parse();

 private:
  struct Value {
    Term term = {};
    bool made = false;  // the result of the operation that was added last, for this
  };
  struct Operator {
    std::string name = {};
    int parameters = 0;
    Term term = {};
    int streams = 0;
  };

  // Words.
  const Token& now() const { return tokens_[at_]; }
  const Token& ahead(std::size_t count) const { return tokens_[std::min(at_ + count, tokens_.size() - 1)]; }
  static bool is(const Token& token, std::string_view text);
  bool is_at(std::string_view text) const { return is(now(), text); }
  bool is_at_end() const { return now().kind == Token::Kind::End; }
  Token take();
  bool takes(std::string_view text);
  [[noreturn]] void fail_at(const Token& token, const std::string& problem, const std::string& remedy) const;
  // Found is what is there now.
  [[noreturn]] void fail(const std::string& expected,
                         const std::string& remedy = "see docs/workloads.md, 'Grammar'") const;
  void expect(std::string_view text, const std::string& after);
  std::string new_name(const std::string& what);
  // One that no error of the whole program is about.
  std::string private_name(const std::string& what);
  std::int64_t whole(const std::string& what, std::int64_t least, std::int64_t most);
  // Names that temporary operations may not take, and streams of random numbers that dropouts may not.
  void look_at_all_words();

  // Heading, sizes, declarations.
  void heading();
  std::vector<std::string> size_names() const;
  // size NAME = product {"," NAME = product}
  void sizes();
  void size();
  // factor {"*" factor}; a factor is a number, a power of one, or a size.
  Extent product();
  std::int64_t power();
  std::int64_t multiplied(const Token& token, std::int64_t a, std::int64_t b) const;
  std::int64_t size_value(const Token& token) const;
  // Tensor NAME(element, [sides], layout) and Scalar NAME(element) or (element, layout)
  void declaration();
  ElementType element();
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
  void outputs();
  // op NAME(parameters) = expression
  void operator_definition();
  const Operator* find_operator(std::string_view name) const;

  // Expressions.
  // sum [("<" | "<=" | "==" | ">" | ">=") sum]
  Value expression();
  // product {("+" | "-") product}
  Value sum();
  // unary {("*" | "/") unary}
  Value multiplication();
  // {"-"} value
  Value unary();
  Value value();
  Value apply(const Token& token, ExpressionOperator op, const std::vector<Term>& values) const;
  void require_room(const Token& token, std::size_t nodes) const;
  Term name();
  // The name of an operation that is there.
  std::string operand(const Token& token) const;
  // After "NAME("; up to the ")".
  Value call(const Token& token);
  std::vector<std::string> call_names() const;
  std::vector<Term> arguments(const Token& token, int count);
  Value apply_room(const Token& token, Term term) const;
  Value cast(const Token& token);
  Value dropout(const Token& token);
  Value apply_operator(const Token& token, const Operator& user);

  // Operations.
  void add(Operation operation, const Token& token) { draft_.add(std::move(operation), place(file_, token)); }
  std::string tensor_argument(const Token& token);
  Value update(const Token& token);
  Value made(Operation operation, const Token& token);
  Value operation_call(const Token& token, OperationKind kind);
  ReduceOp reduction();
  // {"," ("stride" | "padding") "=" number}
  void windows(Operation& operation);
  int shift();

  const std::string& file_;
  const WorkloadSettings& settings_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Draft draft_ = {};
  std::string name_ = {};  // of the statement
  std::vector<Operator> operators_ = {};
  std::vector<std::string> parameters_ = {};  // of the operator that is defined
  bool in_operator_ = false;
  int streams_ = 0;               // of the operator that is defined
  std::int64_t next_stream_ = 0;  // of random numbers
};

}  // namespace chorale
