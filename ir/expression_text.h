// The grammar of expressions, of workloads, epilogues and job templates (docs/workloads.md, 'Grammar'): one
// reader, by recursive descent, one function per rule; and one printer.
//
//   expression      = sum [("<" | "<=" | "==" | ">" | ">=") sum]
//   sum             = multiplication {("+" | "-") multiplication}
//   multiplication  = unary {("*" | "/") unary}
//   unary           = {"-"} value
//   value           = NUMBER | NAME | NAME "(" [expression {"," expression}] ")" | "(" expression ")"
//
// These texts differ in what a name means and in which calls there are besides functions: a reader of one of
// them derives from this reader.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
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

// A token is a word of a workload or an expression in a text (docs/workloads.md), with its place.
struct Token {
  enum class Kind { Name, Number, String, Symbol, End };
  Kind kind = Kind::End;
  std::string_view text = {};  // of the source; of String: without the quotes
  double value = 0;            // of Number
  std::int64_t whole = -1;     // of Number: as an integer; -1: it is not one, or has more than 62 bits
  int line = 1, column = 1;    // from 1, in bytes
};

std::string place(const std::string& file, const Token&);  // "file:line:column"
std::string shown_token(const Token&);                     // "'kernel'", "the end of the text"

// Returns the tokens of a text, into which they point; the last one is End. `symbols` are symbols beside
// those of expressions. Throws InputError: "file:line:column: ...".
std::vector<Token> tokens(std::string_view text, const std::string& file, std::string_view symbols = "");

class ExpressionReader {
 public:
  // Errors name `file`. With `chained`, comparisons follow each other, from left to right; otherwise a second
  // one is refused.
  ExpressionReader(std::string_view text, const std::string& file, bool chained)
      : file_(file), tokens_(tokens(text, file)), chained_(chained) {}
  ExpressionReader(const ExpressionReader&) = delete;
  ExpressionReader& operator=(const ExpressionReader&) = delete;

 protected:
  struct Value {
    Term term = {};
    bool made = false;  // of workloads: the result of the operation that was added last, for this
  };
  ~ExpressionReader() = default;

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
  std::int64_t whole(const std::string& what, std::int64_t least, std::int64_t most);

  // Rules.
  Value expression();
  // Returns the term for a name that no "(" follows.
  virtual Term name() = 0;
  // After "NAME("; up to the ")". Here: functions, ReLU, Cast and Random.
  virtual Value call(const Token& token);
  virtual std::vector<std::string> call_names() const;
  virtual ElementType element();

  std::vector<Term> arguments(const Token& token, int count);
  Value apply(const Token& token, ExpressionOperator op, const std::vector<Term>& values) const;
  Value apply_room(const Token& token, Term term) const;
  void require_room(const Token& token, std::size_t nodes) const;

  const std::string file_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;

 private:
  Value sum();
  Value multiplication();
  Value unary();
  Value value();

  const bool chained_;
  int depth_ = 0;
};

// With the parentheses that the grammar needs for the same expression to be read; operands by their names.
// Requires one without a flaw (ir/epilogue.h) that is not empty.
std::string to_string(const Expression&, const std::vector<std::string>& operands);

}  // namespace chorale
