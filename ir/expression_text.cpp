// Values are Terms, whose operands are names, so an expression grows from its values, whatever their type. A
// parsed expression and each intermediate one have at most kMostExpressionNodes nodes, which is checked
// before a term is made of others: terms are copied into each other, which would be quadratic in a long text.
// The nesting depth is bounded separately, since parentheses add no nodes.
//
// A function for each rule of the grammar (ir/expression_text.h). Operators of one rule are applied as they
// are read, so they group from the left.
#include "ir/expression_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "ir/error.h"
#include "ir/expression_words.h"
#include "ir/number_in.h"
#include "ir/words.h"

namespace chorale {

// A term is an expression in postfix order whose operands are named: terms are joined by appending, and equal
// names become one operand.
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

// The lexer of workloads, scripts and expressions: names, numbers, strings and symbols, with the line and
// column at which each begins. Comments run from # to the end of the line. Tokens are views of the text;
// nothing is copied. Bytes above 127 are in no name and no symbol: they may be in strings and comments only.

namespace {

constexpr std::size_t kLongestText = 1 << 20;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
// Within a name, which cannot begin with a digit: next() sees numbers first.
bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file, std::string_view symbols)
      : text_(text), file_(file), symbols_(symbols) {}

  std::vector<Token> run() {
    std::vector<Token> result;
    for (skip(); at_ < text_.size(); skip()) result.push_back(next());
    result.push_back(begun());
    return result;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  // Where the next token begins; without text it is the end of the file.
  Token begun() const {
    Token token;
    token.line = line_;
    token.column = static_cast<int>(at_ - line_begin_) + 1;
    return token;
  }
  // The token from `begin` to where the lexer is.
  Token ended(Token token, Token::Kind kind, std::size_t begin) const {
    token.kind = kind;
    token.text = text_.substr(begin, at_ - begin);
    return token;
  }
  [[noreturn]] void fail(const Token& token, const std::string& problem, const std::string& remedy) const {
    throw InputError(place(file_, token), problem, remedy);
  }

  // Whitespace, line ends ("\r\n" too) and comments.
  void skip() {
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == '#') {
        while (at_ < text_.size() && peek() != '\n') ++at_;
      } else if (c == '\n') {
        ++at_;
        ++line_;
        line_begin_ = at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  // The longest symbol first: "<=" is one token.
  Token next() {
    const Token token = begun();
    const std::size_t begin = at_;
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number(token);
    if (in_name(c)) {
      while (in_name(peek())) ++at_;
      return ended(token, Token::Kind::Name, begin);
    }
    if (c == '"') return string(token);
    for (const std::string_view two : {"<=", ">=", "==", ".."})
      if (text_.substr(at_, 2) == two) {
        at_ += 2;
        return ended(token, Token::Kind::Symbol, begin);
      }
    if (std::string_view("()[]{},=+-*/<>^").find(c) == std::string_view::npos &&
        symbols_.find(c) == std::string_view::npos)
      fail(token, fmt::format("found '{}', which begins no word", c), "comments begin with #");
    ++at_;
    return ended(token, Token::Kind::Symbol, begin);
  }

  // No escapes: strings are names of files and texts to print. The quotes are not part of the token.
  Token string(const Token& token) {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && peek() != '"' && peek() != '\n') ++at_;
    if (peek() != '"') fail(token, "found a string that does not end", "close it with \" on the same line");
    const Token result = ended(token, Token::Kind::String, begin);
    ++at_;
    return result;
  }

  // "12", "0.5", "1e-8", "4K" (K, M, G: 2^10, 2^20, 2^30). The dots of "0..2" are not part of a number.
  Token number(Token token) {
    const std::size_t begin = at_;
    while (is_digit(peek())) ++at_;
    if (peek() == '.' && peek(1) != '.') {
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    // An exponent only if digits follow: "2e" is a number with a letter behind it, which is refused below.
    if ((peek() == 'e' || peek() == 'E') &&
        (is_digit(peek(1)) || ((peek(1) == '+' || peek(1) == '-') && is_digit(peek(2))))) {
      at_ += 2;
      while (is_digit(peek())) ++at_;
    }
    const char* const end = text_.data() + at_;
    if (std::from_chars(text_.data() + begin, end, token.value).ec != std::errc())
      fail(token,
           fmt::format("found the number {}, too large or too small", text_.substr(begin, at_ - begin)),
           "numbers are those of float64");
    // Also as an integer, if all of the text is one: doubles above 2^53 are not exact.
    const std::int64_t whole = number_in<std::int64_t>({text_.data() + begin, end}).value_or(-1);
    // Without an exact integer of at most 2^62 `whole` stays -1; the double may be rounded.
    const int bits = peek() == 'K' ? 10 : peek() == 'M' ? 20 : peek() == 'G' ? 30 : 0;
    if (bits > 0) ++at_;
    token.value *= static_cast<double>(std::int64_t{1} << bits);
    if (whole >= 0 && whole <= (std::int64_t{1} << 62) >> bits) token.whole = whole << bits;
    if (in_name(peek()))
      fail(token, fmt::format("found a number that '{}' follows", peek()),
           "numbers may end with K, M or G; names begin with a letter");
    return ended(token, Token::Kind::Number, begin);
  }

  const std::string_view text_;
  const std::string& file_;
  const std::string_view symbols_;
  std::size_t at_ = 0, line_begin_ = 0;
  int line_ = 1;
};

}  // namespace

std::string place(const std::string& file, const Token& token) {
  return fmt::format("{}:{}:{}", file, token.line, token.column);
}

std::string shown_token(const Token& token) {
  constexpr std::size_t kMostShown = 40;
  if (token.kind == Token::Kind::End) return "the end of the text";
  const std::string cut = token.text.size() > kMostShown ? "..." : "";
  return fmt::format("'{}{}'", token.text.substr(0, kMostShown), cut);
}

// The length is bounded before anything is read: a token takes more memory than its text.
std::vector<Token> tokens(std::string_view text, const std::string& file, std::string_view symbols) {
  if (text.size() > kLongestText)
    throw InputError(file, fmt::format("the text has {} bytes", text.size()),
                     fmt::format("programs have {} at the most", kLongestText));
  return Lexer(text, file, symbols).run();
}

namespace {

using Op = ExpressionOperator;

constexpr int kDeepestNesting = kMostExpressionNodes;
constexpr std::string_view kComparisons[] = {"<", "<=", "==", ">", ">="};

// How much an expression binds, from the weakest: comparison, sum, product, minus, value.
enum Binding { kComparison, kSum, kProduct, kMinus, kValue };

struct Printed {
  std::string text;
  Binding binding = kValue;
};

std::string enclosed(const Printed& printed, Binding least) {
  return printed.binding < least ? fmt::format("({})", printed.text) : printed.text;
}

// Between two values, the left one may be of the same binding; of a comparison, neither. "a - (b - c)" keeps
// its parentheses and "a - b - c" needs none. The same holds for sums, whose right operand keeps them
// although its value would be equal on paper: additions are rounded in the order in which they stand.
Printed binary(Op op, const std::vector<Printed>& values) {
  const Binding mine = op == Op::Add || op == Op::Subtract      ? kSum
                       : op == Op::Multiply || op == Op::Divide ? kProduct
                                                                : kComparison;
  const auto above = [](Binding binding) { return static_cast<Binding>(binding + 1); };
  return {fmt::format("{} {} {}", enclosed(values[0], mine == kComparison ? above(mine) : mine),
                      word_for(kOperatorWords, op), enclosed(values[1], above(mine))),
          mine};
}

Printed printed_node(const ExpressionNode& node, const std::vector<Printed>& values,
                     const std::vector<std::string>& operands) {
  if (has_word(kOperatorWords, node.op)) return binary(node.op, values);
  switch (node.op) {
    case Op::Constant:
      // The shortest text that is read as the same double.
      return {fmt::format("{}", node.constant)};
    case Op::Element:
      return {"x"};
    // Without a dimension it is the index among all elements, the "index" of epilogues.
    case Op::Index:
      return {node.operand < 0 ? "index" : fmt::format("Index({})", node.operand)};
    case Op::Operand:
      return {operands[node.operand]};
    case Op::Random:
      return {fmt::format("Random({})", static_cast<std::int64_t>(node.constant))};
    case Op::Negate:
      return {fmt::format("-{}", enclosed(values[0], kMinus)), kMinus};
    case Op::Convert:
      return {fmt::format("Cast({}, {})", word_for(kElementWords, static_cast<ElementType>(node.operand)),
                          values[0].text)};
    default:
      break;
  }
  std::vector<std::string> texts;
  for (const Printed& value : values) texts.push_back(value.text);
  return {fmt::format("{}({})", word_for(kFunctionWords, node.op), fmt::join(texts, ", "))};
}

}  // namespace

bool ExpressionReader::is(const Token& token, std::string_view text) {
  return token.kind != Token::Kind::String && token.kind != Token::Kind::End && token.text == text;
}

Token ExpressionReader::take() {
  const Token token = now();
  if (!is_at_end()) ++at_;
  return token;
}

bool ExpressionReader::takes(std::string_view text) {
  if (!is_at(text)) return false;
  ++at_;
  return true;
}

void ExpressionReader::fail_at(const Token& token, const std::string& problem,
                               const std::string& remedy) const {
  throw InputError(place(file_, token), problem, remedy);
}

// "found ')', expected a value": at the token that was not taken.
void ExpressionReader::fail(const std::string& expected, const std::string& remedy) const {
  fail_at(now(), fmt::format("found {}, expected {}", shown_token(now()), expected), remedy);
}

void ExpressionReader::expect(std::string_view text, const std::string& after) {
  if (!takes(text)) fail(fmt::format("'{}' {}", text, after));
}

// A number without a fraction: "2" and "4K", but not "2.0".
std::int64_t ExpressionReader::whole(const std::string& what, std::int64_t least, std::int64_t most) {
  if (now().kind != Token::Kind::Number || now().whole < least || now().whole > most)
    fail(fmt::format("{}, an integer from {} to {}", what, least, most));
  return take().whole;
}

// "a > b" is kept as "b < a", so there are three comparisons and not five.
ExpressionReader::Value ExpressionReader::expression() {
  if (++depth_ > kDeepestNesting)
    fail("less nesting", fmt::format("the deepest is {}: make several statements of it", kDeepestNesting));
  const auto at_comparison = [&] {
    return std::ranges::any_of(kComparisons, [&](std::string_view each) { return is_at(each); });
  };
  Value left = sum();
  while (at_comparison()) {
    const Token token = take();
    const Value right = sum();
    const bool swapped = token.text[0] == '>';
    const Op op = token.text == "==" ? Op::Equal : token.text.size() == 2 ? Op::LessEqual : Op::Less;
    left = swapped ? apply(token, op, {right.term, left.term}) : apply(token, op, {left.term, right.term});
    if (!chained_ && at_comparison()) fail("no second comparison", "put one of them in parentheses");
  }
  --depth_;
  return left;
}

ExpressionReader::Value ExpressionReader::sum() {
  Value left = multiplication();
  while (is_at("+") || is_at("-")) {
    const Token token = take();
    const Value right = multiplication();
    left = apply(token, token.text == "+" ? Op::Add : Op::Subtract, {left.term, right.term});
  }
  return left;
}

ExpressionReader::Value ExpressionReader::multiplication() {
  Value left = unary();
  while (is_at("*") || is_at("/")) {
    const Token token = take();
    const Value right = unary();
    left = apply(token, token.text == "*" ? Op::Multiply : Op::Divide, {left.term, right.term});
  }
  return left;
}

// A loop, since signs nest without the parentheses that expression() counts.
ExpressionReader::Value ExpressionReader::unary() {
  std::vector<Token> signs;
  while (is_at("-")) {
    if (signs.size() >= kMostExpressionNodes) fail("a value", "that is too long");
    signs.push_back(take());
  }
  Value result = value();
  for (; !signs.empty(); signs.pop_back()) result = apply(signs.back(), Op::Negate, {result.term});
  return result;
}

// One token ahead decides between a name and a call. The parentheses of a call are read here, and what is
// between them by call(), which readers of other texts override.
ExpressionReader::Value ExpressionReader::value() {
  const Token token = now();
  if (takes("(")) {
    Value result = expression();
    expect(")", "or an operator");
    return result;
  }
  if (token.kind == Token::Kind::Number) return {number_term(take().value)};
  if (token.kind != Token::Kind::Name) fail("a value: a number, a name, a call or '('");
  if (!is(ahead(1), "(")) return {name()};
  take();
  take();
  Value result = call(token);
  expect(")", fmt::format("or ',' in the call of {}", shown_token(token)));
  return result;
}

ExpressionReader::Value ExpressionReader::apply(const Token& token, Op op,
                                                const std::vector<Term>& values) const {
  std::size_t nodes = 1;
  for (const Term& each : values) nodes += each.expression.size();
  require_room(token, nodes);
  return {applied(op, values)};
}

ExpressionReader::Value ExpressionReader::apply_room(const Token& token, Term term) const {
  require_room(token, term.expression.size());
  return {std::move(term)};
}

void ExpressionReader::require_room(const Token& token, std::size_t nodes) const {
  if (nodes > kMostExpressionNodes)
    fail_at(token, "the expression is too long",
            fmt::format("{} operators and values are the most: make several statements of it",
                        kMostExpressionNodes));
}

// Three calls are not functions of the table: ReLU is written as a Max, Random takes the number of a stream,
// and Cast a type and a value.
ExpressionReader::Value ExpressionReader::call(const Token& token) {
  if (const std::optional<Op> function = meaning(kFunctionWords, token.text))
    return apply(token, *function, arguments(token, arity(*function)));
  if (token.text == "ReLU") return apply_room(token, relu_term(arguments(token, 1)[0]));
  if (token.text == "Random")
    return {random_term(static_cast<double>(whole("the number of a stream", 0, 4294967295)))};
  if (token.text == "Cast") {
    const ElementType type = element();
    expect(",", "and what is cast");
    return apply_room(token, converted(type, expression().term));
  }
  fail_at(token, fmt::format("there is no operation {}", shown_token(token)),
          did_you_mean(std::string(token.text), call_names(), "docs/workloads.md lists them"));
}

std::vector<std::string> ExpressionReader::call_names() const {
  std::vector<std::string> names = {"ReLU", "Cast", "Random"};
  for (const auto& row : kFunctionWords) names.emplace_back(row.name);
  return names;
}

// Element types are words of the grammar only after "Cast("; elsewhere "fp32" is a name.
ElementType ExpressionReader::element() {
  const std::optional<ElementType> type = meaning(kElementWords, now().text);
  if (!type || now().kind != Token::Kind::Name) {
    std::vector<std::string> known;
    for (const auto& row : kElementWords) known.emplace_back(row.name);
    fail("an element type: " + joined(known));
  }
  take();
  return *type;
}

// At most one more than the count is read: a surplus is refused at once, with the words for a value that is
// missing. Without values the list is "()"; after a comma there has to be another.
std::vector<Term> ExpressionReader::arguments(const Token& token, int count) {
  std::vector<Term> result;
  while (!is_at(")") || !result.empty()) {
    result.push_back(expression().term);
    if (static_cast<int>(result.size()) > count || !takes(",")) break;
  }
  if (static_cast<int>(result.size()) != count || !is_at(")"))
    fail_at(token, fmt::format("{} takes {}", shown_token(token), counted(count, "value")),
            fmt::format("give it {}, with ',' between them", count));
  return result;
}

// An expression is in postfix order: each node takes its values from the top of the stack.
std::string to_string(const Expression& expression, const std::vector<std::string>& operands) {
  std::vector<Printed> stack;
  for (const ExpressionNode& node : expression) {
    const std::vector<Printed> values(stack.end() - arity(node.op), stack.end());
    stack.resize(stack.size() - values.size());
    stack.push_back(printed_node(node, values, operands));
  }
  return stack.back().text;
}

}  // namespace chorale
