#include <fmt/format.h>

#include "ir/sizes.h"
#include "workload/parser.h"
#include "workload/vocabulary.h"

namespace chorale {
namespace {

using Kind = OperationKind;

}  // namespace

std::string WorkloadParser::tensor_argument(const Token& token) {
  const Term term = expression().term;
  return draft_.named(term, name_, place(file_, token));
}

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

ExpressionReader::Value WorkloadParser::made(Operation operation, const Token& token) {
  const std::string name = operation.name;
  add(std::move(operation), token);
  return {operand_term(name), true};
}

ExpressionReader::Value WorkloadParser::operation_call(const Token& token, Kind kind) {
  Operation operation{.kind = kind};
  if (kind == Kind::ReduceTensor || kind == Kind::ReduceAlong || kind == Kind::AllReduce ||
      kind == Kind::ReduceScatter || kind == Kind::Reduce) {
    operation.reduction = reduction();
    expect(",", "and what is reduced");
  }
  if (kind == Kind::Concat) {
    operation.dims = {dimension()};
    expect(",", "and what is concatenated");
  }
  operation.operands.push_back(tensor_argument(token));
  while (kind == Kind::Concat && takes(",")) operation.operands.push_back(tensor_argument(token));
  if (kind == Kind::GatherRows || kind == Kind::ScatterRows || kind == Kind::AllToAllV) {
    expect(",", kind == Kind::AllToAllV ? "and how many rows go to each rank" : "and the numbers of rows");
    operation.operands.push_back(tensor_argument(token));
  }
  shape_of(operation);
  if (kind == Kind::MatMul || kind == Kind::Convolution) {
    expect(",", "and the second tensor");
    operation.operands.push_back(tensor_argument(token));
  }
  if (kind == Kind::Convolution) windows(operation);
  if (kind == Kind::Slice || kind == Kind::ReduceScatter) {
    operation.layout = {.kind = LayoutKind::Sliced, .dim = kFlat};
    if (is(now(), ",") && !is(ahead(1), "GROUP")) take(), operation.layout = sliced();
  }
  if ((kind == Kind::Slice || kind == Kind::ReduceScatter || kind == Kind::AllReduce) && takes(","))
    operation.over = scope(kind == Kind::AllReduce);
  if (kind == Kind::ReduceAlong) {
    expect(",", "and the dimension");
    operation.dims = {dimension()};
  }
  if (kind == Kind::Reduce) {
    expect(",", "and the root");
    operation.layout = {.kind = LayoutKind::Rooted,
                        .root = static_cast<int>(whole("the root", 0, kMostRanks - 1))};
  }
  if (kind == Kind::Send) {
    expect(",", "and GROUP + 1 or GROUP - 1");
    operation.shift = shift();
  }
  operation.name = draft_.fresh(name_);
  return made(std::move(operation), token);
}

void WorkloadParser::shape_of(Operation& operation) {
  const Kind kind = operation.kind;
  if (kind == Kind::Transpose || kind == Kind::Narrow) {
    expect(",", "and a dimension");
    operation.dims = {dimension()};
  }
  if (kind == Kind::Transpose) {
    expect(",", "and the other dimension");
    operation.dims.push_back(dimension());
  }
  if (kind == Kind::Reshape) {
    expect(",", "and the shape");
    operation.shape = shape();
  }
  if (kind == Kind::Narrow) {
    expect(",", "and where it begins");
    const bool at_first = now().kind == Token::Kind::Number && now().whole == 0;
    operation.shape = {at_first ? Extent{.factor = take().whole, .value = 0} : product()};
  }
  if (kind == Kind::Narrow || kind == Kind::ScatterRows || kind == Kind::AllToAllV) {
    expect(",", kind == Kind::Narrow ? "and how many" : "and how many rows there are");
    operation.shape.push_back(product());
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

int WorkloadParser::shift() {
  const bool fits = is_at("GROUP") && (is(ahead(1), "+") || is(ahead(1), "-")) && ahead(2).whole == 1;
  if (!fits)
    fail("GROUP + 1 or GROUP - 1", "tensors are sent to the same rank of the next group, or the one before");
  const bool further = is(ahead(1), "+");
  at_ += 3;
  return further ? 1 : -1;
}

}  // namespace chorale
