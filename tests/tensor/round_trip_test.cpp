// What is printed is read back as the same, whatever it is: random programs of all operations, layouts,
// groups, kernels and overlaps, with sides that no number of ranks divides.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "ir/error.h"
#include "tensor/language/infer.h"
#include "tensor/language/text.h"
#include "tests/kit/random.h"

namespace chorale::test {
namespace {

using Random = std::mt19937;
using Op = ExpressionOperator;
using Kind = OperationKind;

template <typename Values>
auto one_of(Random& random, const Values& values) {
  return values[below(random, static_cast<int>(values.size()))];
}

constexpr std::array kTypes = {ElementType::Float64,   ElementType::Float32, ElementType::Float16,
                               ElementType::Bfloat16,  ElementType::Int32,   ElementType::Float8E4m3,
                               ElementType::Float8E5m2};

TensorLayout random_layout(Random& random, int dimensions) {
  const LayoutKind kind = static_cast<LayoutKind>(below(random, 4));
  if (kind == LayoutKind::Sliced) return {.kind = kind, .dim = below(random, dimensions + 1) - 1};
  if (kind == LayoutKind::Rooted) return {.kind = kind, .root = below(random, 3)};
  return {.kind = kind};
}

Extent random_side(Random& random) {
  Extent side{.factor = 1 + below(random, 4)};
  if (below(random, 2) == 0) side.sizes.push_back("N");
  if (below(random, 4) == 0) side.sizes.push_back("M");
  return side;
}

Operation random_input(Random& random, const std::string& name, int groups) {
  Operation input{.name = name, .type = {.element = one_of(random, kTypes)}, .state = below(random, 3) == 0};
  const int dimensions = below(random, 4);
  for (int d = 0; d < dimensions; ++d) input.type.shape.push_back(random_side(random));
  input.type.layout = random_layout(random, dimensions);
  input.scattered = dimensions == 1 && below(random, 4) == 0;
  if (below(random, 3) == 0) {
    input.type.scope = Scope::Group;
    input.type.first_group = below(random, groups);
    input.type.last_group = input.type.first_group + below(random, groups - input.type.first_group);
  }
  return input;
}

// As a stack machine would be given it, with all operators.
Expression random_expression(Random& random, int operands) {
  Expression expression;
  int depth = 0;
  while (depth != 1 || below(random, 3) > 0) {
    if (expression.size() > 40) {
      while (depth > 1) expression.push_back({.op = Op::Add}), --depth;
      return expression;
    }
    const Op op = static_cast<Op>(below(random, kExpressionOperators));
    if (op == Op::Element || op == Op::Index || arity(op) > depth || (arity(op) == 0 && depth > 8)) continue;
    ExpressionNode node{.op = op};
    if (op == Op::Constant)
      node.constant = one_of(random, std::array{0.0, 1.0, 2.0, 0.1, 1e-8, 3e20, 1e16, 12345678.5});
    if (op == Op::Random) node.constant = below(random, 3);
    if (op == Op::Convert) node.operand = static_cast<int>(one_of(random, kTypes));
    if (op == Op::Operand) node.operand = below(random, operands);
    depth += 1 - arity(op);
    expression.push_back(node);
  }
  return expression;
}

bool reads_all(const Expression& expression, int operands) {
  std::set<int> read;
  for (const ExpressionNode& node : expression)
    if (node.op == Op::Operand) read.insert(node.operand);
  return static_cast<int>(read.size()) == operands;
}

Operation random_operation(Random& random, const std::string& name, const std::vector<std::string>& names) {
  Operation operation{.name = name};
  operation.kind = below(random, 2) == 0
                       ? Kind::Pointwise
                       : static_cast<Kind>(static_cast<int>(Kind::MatMul) +
                                           below(random, static_cast<int>(Kind::Send) -
                                                             static_cast<int>(Kind::MatMul) + 1));
  const int operands = operation.kind == Kind::Pointwise ? 1 + below(random, 3)
                       : operation.kind == Kind::MatMul || operation.kind == Kind::Convolution ||
                               operation.kind == Kind::GatherRows || operation.kind == Kind::ScatterRows ||
                               operation.kind == Kind::TakeAlong || operation.kind == Kind::AllToAllV
                           ? 2
                           : 1;
  // Often what was made last, so that there are chains; what is multiplied, often of those that fit.
  for (int k = 0; k < operands; ++k)
    operation.operands.push_back(below(random, 3) == 0 ? names.back() : one_of(random, names));
  if (operands == 2 && operation.kind != Kind::Pointwise && below(random, 4) > 0) {
    const char* const fitting = operation.kind == Kind::MatMul ? "ab" : "cd";
    operation.operands[1] = fitting[below(random, 2)];
    if (below(random, 2) == 0) operation.operands[0] = fitting[below(random, 2)];
  }
  if (operation.kind == Kind::Pointwise) {
    do operation.expression = random_expression(random, operands);
    while (!reads_all(operation.expression, operands));
    operation.casts = below(random, 4) == 0;
    operation.type.element = one_of(random, kTypes);
  }
  operation.reduction = one_of(random, std::array{ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max});
  operation.layout = operation.kind == Kind::Reduce
                         ? TensorLayout{.kind = LayoutKind::Rooted, .root = below(random, 3)}
                         : TensorLayout{.kind = LayoutKind::Sliced, .dim = below(random, 3) - 1};
  operation.dims = {below(random, 3)};
  if (operation.kind == Kind::Transpose) operation.dims.push_back(below(random, 3));
  if (operation.kind == Kind::Narrow)
    operation.shape = {{.factor = 0, .value = 0}, {.factor = 1, .value = 1}};
  operation.shift = below(random, 2) == 0 ? 1 : -1;
  operation.around = below(random, 2) == 0;
  operation.stride = 1 + below(random, 3);
  operation.padding = below(random, 3);
  return operation;
}

bool is_taken(Workload& workload) try {
  workload = inferred(workload, "random").or_throw();
  return true;
} catch (const InputError&) {
  return false;
}

void annotate(Random& random, Workload& workload) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    Workload other = workload;
    const int begin = below(random, static_cast<int>(other.operations.size()));
    const bool kernel = below(random, 2) == 0;
    const int length = kernel ? 1 + below(random, 4) : 2;
    const int end = std::min(begin + length, static_cast<int>(other.operations.size()));
    for (int index = begin; index < end; ++index)
      (kernel ? other.operations[index].kernel : other.operations[index].overlap) =
          (kernel ? "k" : "o") + std::to_string(attempt);
    if (is_taken(other)) workload = other;
  }
}

Workload random_workload(Random& random) {
  Workload workload{.name = "random",
                    .ranks = 1 + below(random, 4),
                    .groups = 1 + below(random, 3),
                    .sizes = {{"N", 1 + below(random, 9)}, {"M", 5}}};
  std::vector<std::string> names;
  const auto keep = [&](Operation operation) {
    const OrError<TensorType> type = inferred_type(workload, operation, "random");
    if (!type) return;
    operation.type = *type;
    names.push_back(operation.name);
    workload.operations.push_back(std::move(operation));
  };
  for (const Kind kind : {Kind::Rank, Kind::Group, Kind::Ranks})
    keep({.kind = kind, .name = to_string(kind)});
  for (const char* name : {"M", "N"}) keep({.kind = Kind::Size, .name = name});
  // Some that can be multiplied and convolved.
  for (const char* name : {"a", "b", "c", "d"}) {
    const int sides = name[0] < 'c' ? 2 : 4;
    keep({.name = name,
          .type = {.element = ElementType::Float16,
                   .shape = TensorShape(sides, {.factor = 1, .sizes = {"N"}}),
                   .layout = random_layout(random, sides)}});
  }
  // And rows.
  const Extent n{.factor = 1, .sizes = {"N"}, .value = workload.sizes[0].value};
  const auto input = [](ElementType type, const TensorShape& shape) {
    return TensorType{.element = type, .shape = shape};
  };
  keep({.name = "whole", .type = input(ElementType::Float32, {n, n, n})});
  keep({.name = "numbers", .type = input(ElementType::Int32, {n})});
  keep({.kind = Kind::Reshape,
        .name = "reshaped",
        .operands = {"whole"},
        .shape = {n, {.factor = 1, .sizes = {"N", "N"}, .value = n.value * n.value}}});
  keep({.kind = Kind::GatherRows, .name = "picked", .operands = {"whole", "numbers"}});
  keep({.kind = Kind::TopK, .name = "top", .operands = {"whole"}, .dims = {below(random, 3)}, .shape = {{}}});
  keep({.kind = Kind::TakeAlong, .name = "took", .operands = {"whole", "top"}, .dims = {0}});
  keep({.kind = Kind::ScatterRows, .name = "added", .operands = {"picked", "numbers"}, .shape = {n}});
  keep({.kind = Kind::PutRows, .name = "put", .operands = {"whole", "picked", "numbers"}});
  keep({.kind = Kind::Pointwise,
        .name = "expanded",
        .operands = {"numbers"},
        .expression = {{.op = ExpressionOperator::Operand}},
        .shape = {{.factor = 3, .value = 3}, n}});
  TensorType counts = input(ElementType::Int32, {{.factor = 6, .value = 6}}),
             rows = input(ElementType::Float32, {n, n});
  counts.layout.kind = rows.layout.kind = LayoutKind::Local;
  keep({.name = "counts", .type = counts});
  keep({.name = "rows", .type = rows});
  keep({.kind = Kind::AllToAllV, .name = "counted", .operands = {"rows", "counts"}, .shape = {n}});
  keep({.kind = Kind::Concat, .name = "both", .operands = {"picked", "whole"}, .dims = {below(random, 3)}});
  for (int k = 0; k < 5; ++k) keep(random_input(random, "in" + std::to_string(k), workload.groups));
  for (int k = 0; k < 50; ++k) {
    Operation operation = random_operation(random, "x" + std::to_string(k), names);
    if (below(random, 3) == 0) operation.updates = "in" + std::to_string(below(random, 5));
    if (!operation.updates.empty()) {
      Workload with = workload;
      with.operations.push_back(operation);
      with.outputs = {operation.name};
      if (!is_taken(with)) continue;
      std::erase(names, operation.updates);
    }
    keep(std::move(operation));
    // What can be overlapped with it.
    const Kind made = workload.operations.back().kind;
    if (made == Kind::MatMul || made == Kind::Convolution)
      keep({.kind = Kind::AllReduce, .name = "r" + std::to_string(k), .operands = {names.back()}});
    if (made == Kind::AllToAll)
      keep({.kind = Kind::MatMul, .name = "r" + std::to_string(k), .operands = {names.back(), "b"}});
  }
  for (const Operation& each : workload.operations)
    if (!is_given(each.kind) && below(random, 3) == 0) workload.outputs.push_back(each.name);
  if (!is_taken(workload)) return {};
  annotate(random, workload);
  return workload;
}

TEST(RoundTrip, OfRandomWorkloads) {
  constexpr std::uint64_t kSeed = 11;
  Random random(kSeed);
  std::map<std::string, int> seen;
  int programs = 0;
  for (int round = 0; round < 150; ++round) {
    const Workload workload = random_workload(random);
    if (workload.operations.empty()) continue;
    ++programs;
    const std::string text = to_text(workload);
    SCOPED_TRACE(text);
    Workload read;
    ASSERT_NO_THROW(read = parse_workload(text, "printed")) << "seed " << kSeed << ", round " << round;
    ASSERT_EQ(read, workload) << "seed " << kSeed << ", round " << round << "\n" << to_text(read);
    for (const Operation& each : workload.operations) {
      ++seen[to_string(each.kind)];
      if (!each.kernel.empty()) ++seen["kernel"];
      if (!each.overlap.empty()) ++seen["overlap"];
      if (!each.updates.empty()) ++seen["update"];
    }
  }
  // Nothing that the language has was left out.
  EXPECT_GT(programs, 120);
  for (int kind = 0; kind <= static_cast<int>(Kind::Send); ++kind)
    EXPECT_GT(seen[to_string(static_cast<Kind>(kind))], 0) << to_string(static_cast<Kind>(kind));
  for (const char* what : {"kernel", "overlap", "update"}) EXPECT_GT(seen[what], 5) << what;
}

}  // namespace
}  // namespace chorale::test
