// Calls of operations: AllReduce("+", g), Concat(1, a, b), Convolution(x, w, stride = 2).
//
// Arguments are read as tensor/language/operation_forms.h lists them; an argument that is an expression becomes
// an operation of its own before the call does, so operations come in the order in which they are done:
// sum = AllReduce("+", g * 2) adds sum_1 = g * 2, and then sum.
#include <fmt/format.h>

#include "ir/sizes.h"
#include "tensor/language/operation_forms.h"
#include "tensor/language/parser.h"
#include "tensor/language/vocabulary.h"

namespace chorale {
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
      if (now().kind == Token::Kind::Number && now().whole == 0)
        operation.shape.push_back({.factor = take().whole, .value = 0});
      else
        operation.shape.push_back(product());
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
      operation.shift = shift();
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
int WorkloadParser::shift() {
  const bool fits = is_at("GROUP") && (is(ahead(1), "+") || is(ahead(1), "-")) && ahead(2).whole == 1;
  if (!fits)
    fail("GROUP + 1 or GROUP - 1", "tensors are sent to the same rank of the next group, or the one before");
  const bool further = is(ahead(1), "+");
  at_ += 3;
  return further ? 1 : -1;
}

}  // namespace chorale
