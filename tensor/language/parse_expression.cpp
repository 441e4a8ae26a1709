// Names and calls inside of expressions. A name is an operand, a constant (RANK, GROUP, WORLD), a size as
// a number, or, in the definition of an operator, one of its parameters.
//
// Constants and sizes become operations when they are first read, so that a program has those that it
// reads and no others. While an operator is defined nothing is added: its term has constants by name, and
// they are added where it is applied.
#include <fmt/format.h>

#include <algorithm>

#include "ir/sizes.h"
#include "ir/words.h"
#include "tensor/language/names.h"
#include "tensor/language/operation_forms.h"
#include "tensor/language/parser.h"

namespace chorale {

using Op = ExpressionOperator;

// A parameter is the operand "%0", "%1", which no name can be.
Term WorkloadParser::name() {
  const Token token = take();
  const std::optional<OperationKind> constant = meaning(kConstantWords, token.text);
  if (const std::optional<std::int64_t> number = number_named(token.text); number && !constant)
    return number_term(static_cast<double>(*number));
  if (constant) return in_operator_ ? operand_term(std::string(token.text)) : draft_.constant(*constant);
  const bool is_size = std::ranges::find(draft_.workload.sizes, token.text, &WorkloadSize::name) !=
                       draft_.workload.sizes.end();
  if (is_size && !in_operator_) return draft_.size(std::string(token.text));
  if (!in_operator_) return operand_term(operand(token));
  const auto parameter = std::ranges::find(parameters_, token.text);
  if (parameter == parameters_.end())
    fail_at(token, fmt::format("{} is not a parameter of the operator", shown_token(token)),
            "operators see their parameters only: give it one more");
  return operand_term(fmt::format("%{}", parameter - parameters_.begin()));
}

std::string WorkloadParser::operand(const Token& token) const {
  const auto called = called_.find(std::string(token.text));
  const std::string name = called == called_.end() ? std::string(token.text) : called->second;
  if (find(draft_.workload, name) != nullptr) return name;
  std::vector<std::string> known;
  for (const Operation& each : draft_.workload.operations) known.push_back(each.name);
  if (is_reserved(name))
    fail_at(token, fmt::format("found {}, expected a value", shown_token(token)),
            "it is a word of the language");
  fail_at(token, fmt::format("there is no {}", shown_token(token)),
          did_you_mean(name, known, "declare it as a Tensor or Scalar, or compute it before"));
}

// In this order: an operator of the user may have any name that is not reserved, and the rest are words of
// the language, of which the functions of elements are the common grammar's.
ExpressionReader::Value WorkloadParser::call(const Token& token) {
  if (token.text == "Dropout") return dropout(token);
  if (const Operator* const user = find_operator(token.text)) return apply_operator(token, *user);
  const std::optional<OperationKind> kind = called_kind(token.text);
  const bool of_rows = std::ranges::find(kRowWords, token.text) != std::end(kRowWords);
  if (in_operator_ &&
      (kind || of_rows || token.text == "Norm" || token.text == "Update" || token.text == "Expand"))
    fail_at(token, fmt::format("{} is not pointwise", shown_token(token)),
            "operators of one's own have arithmetic and functions of elements only");
  if (token.text == "Norm") {
    const Term argument = expression().term;
    return {draft_.norm(argument, name_, place(file_, token))};
  }
  if (token.text == "Update") return update(token);
  if (token.text == "Expand") {
    Operation operation = pointwise(draft_.fresh(name_), expression().term);
    expect(",", "and the shape");
    operation.shape = shape();
    return made(std::move(operation), token);
  }
  if (of_rows) return of_rows_call(token);
  if (kind) return operation_call(token, *kind);
  if (token.text == "Index") return {index_term(dimension())};
  return ExpressionReader::call(token);
}

// For "did you mean": all that could stand before a parenthesis.
std::vector<std::string> WorkloadParser::call_names() const {
  std::vector<std::string> names = ExpressionReader::call_names();
  names.insert(names.end(), {"Dropout", "Norm", "Update", "Expand", "Index"});
  names.insert(names.end(), std::begin(kRowWords), std::end(kRowWords));
  for (const std::string& called : called_names()) names.push_back(called);
  for (const Operator& each : operators_) names.push_back(each.name);
  return names;
}

// Mean(x, 1), Softmax(x, 1), RMSNorm(x, weight, 1e-5), LayerNorm(x, weight, bias, 1e-5)
ExpressionReader::Value WorkloadParser::of_rows_call(const Token& token) {
  const std::string where = place(file_, token);
  const std::string name = tensor_argument(token);
  const Term x = operand_term(name);
  const int dimensions = static_cast<int>(find(draft_.workload, name)->type.shape.size());
  if (dimensions == 0)
    fail_at(token, fmt::format("{} is a scalar", name), "give it a tensor with dimensions");
  const auto next = [&](const std::string& what) {
    expect(",", "and " + what);
    return expression().term;
  };
  if (token.text == "Mean" || token.text == "Softmax") {
    expect(",", "and the dimension");
    const int dim = static_cast<int>(whole("a dimension of it", 0, dimensions - 1));
    return {token.text == "Mean" ? draft_.mean(x, dim, name_, where) : draft_.softmax(x, dim, name_, where)};
  }
  const Term weight = next("the weight");
  const Term bias = token.text == "LayerNorm" ? next("the bias") : Term{};
  expect(",", "and what is added to the mean of squares");
  if (now().kind != Token::Kind::Number) fail("a number");
  const double epsilon = take().value;
  return apply_room(token, token.text == "RMSNorm"
                               ? draft_.rms_norm(x, weight, epsilon, name_, where)
                               : draft_.layer_norm(x, weight, bias, epsilon, name_, where));
}

// Each Dropout has a stream of random numbers of its own. Streams count up from behind the largest that
// the text names in Random(s) (check_all_words), and down from -1 inside of an operator, for
// apply_operator to replace.
ExpressionReader::Value WorkloadParser::dropout(const Token& token) {
  const Term term = expression().term;
  expect(",", "and the probability");
  if (now().kind != Token::Kind::Number || now().value >= 1)
    fail("the probability, a number from 0 to less than 1");
  const double probability = take().value;
  const double stream = in_operator_ ? -++streams_ : next_stream_++;
  return apply_room(token, dropout_term(term, probability, stream));
}

// The parsed term with the arguments in place of "%k" and fresh streams in place of -1, -2, ...: k
// applications cost k terms, and not k readings of the text. The size of the result is counted before it
// is made, since nested operators multiply: op f(x) = x * x, applied ten times, has 1024 leaves.
ExpressionReader::Value WorkloadParser::apply_operator(const Token& token, const Operator& user) {
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

// Calls of operations: AllReduce("+", g), Concat(1, a, b), Convolution(x, w, stride = 2).
//
// Arguments are read as operation_forms.h lists them; an argument that is an expression becomes
// an operation of its own before the call does, so operations come in the order in which they are done:
// sum = AllReduce("+", g * 2) adds sum_1 = g * 2, and then sum.

namespace {

using Kind = OperationKind;

}  // namespace

// The name of what the expression computes. Of Norm(x) or x + y that is a new operation, which is added
// here.
std::string WorkloadParser::tensor_argument(const Token& token) {
  const Term term = expression().term;
  return draft_.named(term, name_, place(file_, token));
}

// Update(p, value). Where the value is the result of the operation that was added last, a communication or
// one that moves elements, it is that operation that updates; else a pointwise one is added for it. An
// operation that updates already keeps its input: Update(p, Update(q, x)) copies.
ExpressionReader::Value WorkloadParser::update(const Token& token) {
  if (now().kind != Token::Kind::Name) fail("the name of a tensor that is updated");
  const std::string input = operand(take());
  expect(",", "and its new value");
  const Value value = expression();
  Operation* const last = draft_.workload.operations.empty() ? nullptr : &draft_.workload.operations.back();
  if (value.made && last->updates.empty()) {
    last->updates = input;
    draft_.places[last->name] = place(file_, token);
    return value;
  }
  Operation operation = pointwise(draft_.fresh(name_), value.term);
  operation.updates = input;
  return made(std::move(operation), token);
}

// The result of an operation that was just added, so that a statement that consists of it can give it its
// own name.
ExpressionReader::Value WorkloadParser::made(Operation operation, const Token& token) {
  const std::string name = operation.name;
  add(std::move(operation), token);
  return {operand_term(name), true};
}

// Arguments as the table of forms has them, with a comma before each but the first. Those that may be left
// out look for their comma themselves.
ExpressionReader::Value WorkloadParser::operation_call(const Token& token, Kind kind) {
  Operation operation{.kind = kind};
  for (const Argument& argument : form_of(kind).arguments) {
    if (*argument.expected != '\0') expect(",", argument.expected);
    read(argument.kind, operation, token);
  }
  operation.name = draft_.fresh(name_);
  return made(std::move(operation), token);
}

void WorkloadParser::read(ArgumentKind argument, Operation& operation, const Token& token) {
  switch (argument) {
    case ArgumentKind::Tensor:
      operation.operands.push_back(tensor_argument(token));
      break;
    case ArgumentKind::Tensors:
      do operation.operands.push_back(tensor_argument(token));
      while (takes(","));
      break;
    case ArgumentKind::Reduction:
      operation.reduction = reduction();
      break;
    case ArgumentKind::Dimension:
      operation.dims.push_back(dimension());
      break;
    case ArgumentKind::Shape:
      operation.shape = shape();
      break;
    case ArgumentKind::Begin:  // the one length that may be 0
      operation.shape.push_back(product(true));
      break;
    case ArgumentKind::Length:
      operation.shape.push_back(product());
      break;
    case ArgumentKind::Slices:
      operation.layout = {.kind = LayoutKind::Sliced, .dim = kFlat};
      if (is_at(",") && !is(ahead(1), "GROUP")) take(), operation.layout = sliced();
      break;
    case ArgumentKind::Root:
      operation.layout = {.kind = LayoutKind::Rooted,
                          .root = static_cast<int>(whole("the root", 0, kMostRanks - 1))};
      break;
    case ArgumentKind::Group:
    case ArgumentKind::Scope:
      if (takes(",")) operation.over = scope(argument == ArgumentKind::Scope);
      break;
    case ArgumentKind::Shift:
      shift(operation);
      break;
    case ArgumentKind::Windows:
      windows(operation);
      break;
  }
}

int WorkloadParser::dimension() {
  return static_cast<int>(whole("a dimension", 0, kMostDimensions - 1));
}

ReduceOp WorkloadParser::reduction() {
  const std::optional<ReduceOp> op = meaning(kReductionWords, now().text);
  if (!op || now().kind != Token::Kind::String) fail("\"+\", \"min\" or \"max\"");
  take();
  return *op;
}

// Convolution(x, w, padding = 1, stride = 2); the last one counts where one is given twice.
void WorkloadParser::windows(Operation& operation) {
  constexpr std::int64_t kMostWindow = 1 << 20;
  while (takes(",")) {
    const bool stride = is_at("stride");
    if (!stride && !is_at("padding")) fail("stride or padding");
    take();
    expect("=", "and a number");
    (stride ? operation.stride : operation.padding) =
        static_cast<int>(whole(stride ? "the stride" : "the padding", stride ? 1 : 0, kMostWindow));
  }
}

Scope WorkloadParser::scope(bool may_be_across) {
  if (may_be_across && takes("ACROSS")) return Scope::Across;
  if (!takes("GROUP")) fail(may_be_across ? "GROUP or ACROSS" : "GROUP");
  return Scope::Group;
}

// Three tokens, GROUP + 1: the grammar of expressions would read GROUP as an operand here.
void WorkloadParser::shift(Operation& operation) {
  operation.around = is_at("RANK");
  const bool fits =
      (is_at("GROUP") || operation.around) && (is(ahead(1), "+") || is(ahead(1), "-")) && ahead(2).whole == 1;
  if (!fits)
    fail("GROUP + 1, GROUP - 1, RANK + 1 or RANK - 1",
         "tensors are sent to the same rank of the next group, or the one before, or round a ring of ranks");
  operation.shift = is(ahead(1), "+") ? 1 : -1;
  at_ += 3;
}

}  // namespace chorale
