#include <fmt/format.h>

#include <algorithm>

#include "ir/epilogue.h"
#include "ir/words.h"
#include "workload/names.h"
#include "workload/parser.h"
#include "workload/vocabulary.h"

namespace chorale {
namespace {

using Op = ExpressionOperator;

constexpr int kDeepestNesting = 64;
constexpr std::string_view kComparisons[] = {"<", "<=", "==", ">", ">="};

}  // namespace

WorkloadParser::Value WorkloadParser::expression() {
  if (++depth_ > kDeepestNesting)
    fail("less nesting", fmt::format("the deepest is {}: make several statements of it", kDeepestNesting));
  Value left = sum();
  const Token token = now();
  for (const std::string_view comparison : kComparisons)
    if (takes(comparison)) {
      const Value right = sum();
      const bool swapped = comparison[0] == '>';
      const Op op = comparison == "==" ? Op::Equal : comparison.size() == 2 ? Op::LessEqual : Op::Less;
      left = swapped ? apply(token, op, {right.term, left.term}) : apply(token, op, {left.term, right.term});
      if (std::ranges::any_of(kComparisons, [&](std::string_view each) { return is_at(each); }))
        fail("no second comparison", "put one of them in parentheses");
      break;
    }
  --depth_;
  return left;
}

WorkloadParser::Value WorkloadParser::sum() {
  Value left = multiplication();
  while (is_at("+") || is_at("-")) {
    const Token token = take();
    const Value right = multiplication();
    left = apply(token, token.text == "+" ? Op::Add : Op::Subtract, {left.term, right.term});
  }
  return left;
}

WorkloadParser::Value WorkloadParser::multiplication() {
  Value left = unary();
  while (is_at("*") || is_at("/")) {
    const Token token = take();
    const Value right = unary();
    left = apply(token, token.text == "*" ? Op::Multiply : Op::Divide, {left.term, right.term});
  }
  return left;
}

WorkloadParser::Value WorkloadParser::unary() {
  std::vector<Token> signs;
  while (is_at("-")) {
    if (signs.size() >= kMostExpressionNodes) fail("a value", "that is too long");
    signs.push_back(take());
  }
  Value result = value();
  for (; !signs.empty(); signs.pop_back()) result = apply(signs.back(), Op::Negate, {result.term});
  return result;
}

WorkloadParser::Value WorkloadParser::value() {
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

WorkloadParser::Value WorkloadParser::apply(const Token& token, Op op,
                                            const std::vector<Term>& values) const {
  std::size_t nodes = 1;
  for (const Term& each : values) nodes += each.expression.size();
  require_room(token, nodes);
  return {applied(op, values)};
}

void WorkloadParser::require_room(const Token& token, std::size_t nodes) const {
  if (nodes > kMostExpressionNodes)
    fail_at(token, "the expression is too long",
            fmt::format("{} operators and values are the most: make several statements of it",
                        kMostExpressionNodes));
}

Term WorkloadParser::name() {
  const Token token = take();
  const std::optional<OperationKind> constant = meaning(kConstantWords, token.text);
  if (constant) return in_operator_ ? operand_term(std::string(token.text)) : draft_.constant(*constant);
  if (!in_operator_) return operand_term(operand(token));
  const auto parameter = std::ranges::find(parameters_, token.text);
  if (parameter == parameters_.end())
    fail_at(token, fmt::format("{} is no parameter of the operator", shown_token(token)),
            "operators see their parameters only: give it one more");
  return operand_term(fmt::format("%{}", parameter - parameters_.begin()));
}

std::string WorkloadParser::operand(const Token& token) const {
  const std::string name(token.text);
  if (find(draft_.workload, name) != nullptr) return name;
  std::vector<std::string> known;
  for (const Operation& each : draft_.workload.operations) known.push_back(each.name);
  if (is_reserved(name))
    fail_at(token, fmt::format("found {}, expected a value", shown_token(token)),
            "it is a word of the language");
  if (std::ranges::find(draft_.workload.sizes, name, &WorkloadSize::name) != draft_.workload.sizes.end())
    fail_at(token, fmt::format("'{}' is a size", name),
            "sizes are for shapes; declare a Scalar for computing");
  fail_at(token, fmt::format("there is no {}", shown_token(token)),
          did_you_mean(name, known, "declare it as a Tensor or Scalar, or compute it before"));
}

WorkloadParser::Value WorkloadParser::call(const Token& token) {
  if (const std::optional<Op> function = meaning(kFunctionWords, token.text))
    return apply(token, *function, arguments(token, arity(*function)));
  if (token.text == "ReLU") return apply_room(token, relu_term(arguments(token, 1)[0]));
  if (token.text == "Cast") return cast(token);
  if (token.text == "Dropout") return dropout(token);
  if (token.text == "Random")
    return {random_term(static_cast<double>(whole("the number of a stream", 0, 4294967295)))};
  if (const Operator* const user = find_operator(token.text)) return apply_operator(token, *user);
  const std::optional<OperationKind> kind = meaning(kCallWords, token.text);
  if (in_operator_ && (kind || token.text == "Norm" || token.text == "Update"))
    fail_at(token, fmt::format("{} is not pointwise", shown_token(token)),
            "operators of one's own have arithmetic and functions of elements only");
  if (token.text == "Norm") {
    const Term argument = expression().term;
    return {draft_.norm(argument, name_, place(file_, token))};
  }
  if (token.text == "Update") return update(token);
  if (kind) return operation_call(token, *kind);
  fail_at(token, fmt::format("there is no operation {}", shown_token(token)),
          did_you_mean(std::string(token.text), call_names(), "docs/workloads.md lists them"));
}

std::vector<std::string> WorkloadParser::call_names() const {
  std::vector<std::string> names = {"ReLU", "Cast", "Dropout", "Random", "Norm", "Update"};
  for (const auto& row : kFunctionWords) names.emplace_back(row.name);
  for (const auto& row : kCallWords) names.emplace_back(row.name);
  for (const Operator& each : operators_) names.push_back(each.name);
  return names;
}

std::vector<Term> WorkloadParser::arguments(const Token& token, int count) {
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

WorkloadParser::Value WorkloadParser::apply_room(const Token& token, Term term) const {
  require_room(token, term.expression.size());
  return {std::move(term)};
}

WorkloadParser::Value WorkloadParser::cast(const Token& token) {
  const ElementType type = element();
  expect(",", "and what is cast");
  return apply_room(token, converted(type, expression().term));
}

WorkloadParser::Value WorkloadParser::dropout(const Token& token) {
  const Term term = expression().term;
  expect(",", "and the probability");
  if (now().kind != Token::Kind::Number || now().value >= 1)
    fail("the probability, a number from 0 to less than 1");
  const double probability = take().value;
  const double stream = in_operator_ ? -++streams_ : next_stream_++;
  return apply_room(token, dropout_term(term, probability, stream));
}

WorkloadParser::Value WorkloadParser::apply_operator(const Token& token, const Operator& user) {
  const std::vector<Term> values = arguments(token, user.parameters);
  std::size_t nodes = 0;
  Term term = user.term;
  for (ExpressionNode& node : term.expression) {
    if (node.op == Op::Operand && term.operands[node.operand][0] == '%')
      nodes += values[std::stoi(term.operands[node.operand].substr(1))].expression.size();
    else
      ++nodes;
    if (node.op == Op::Random && node.constant < 0)
      node.constant = in_operator_ ? node.constant - streams_ : next_stream_ - node.constant - 1;
  }
  require_room(token, nodes);
  if (in_operator_)
    streams_ += user.streams;
  else
    next_stream_ += user.streams;
  for (const std::string& name : term.operands)
    if (const std::optional<OperationKind> constant = meaning(kConstantWords, name);
        constant && !in_operator_)
      draft_.constant(*constant);
  std::vector<std::string> names;
  for (int k = 0; k < user.parameters; ++k) names.push_back(fmt::format("%{}", k));
  return {substituted(term, names, values)};
}

}  // namespace chorale
