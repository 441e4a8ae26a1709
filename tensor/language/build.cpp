// Terms are built as values and become operations when an operation takes them (Draft::named), so that a +
// b * c is one pointwise operation and not two. Rules, names and errors are those of the text form, since
// both write into a Draft.
#include "tensor/language/build.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "tensor/language/infer.h"
#include "tensor/language/typing.h"

namespace chorale {
namespace {

constexpr double kFirstOfDropouts = 1LL << 31;  // streams of random() are ints

using Op = ExpressionOperator;
using Kind = OperationKind;

// An operator over values is their postfix forms, one after the other, and the operator.
PointwiseTerm formula(Op op, const std::vector<Term>& values) {
  return PointwiseTerm(applied(op, values));
}

}  // namespace

PointwiseTerm operator+(const PointwiseTerm& a, const PointwiseTerm& b) {
  return formula(Op::Add, {a.term, b.term});
}
PointwiseTerm operator-(const PointwiseTerm& a, const PointwiseTerm& b) {
  return formula(Op::Subtract, {a.term, b.term});
}
PointwiseTerm operator*(const PointwiseTerm& a, const PointwiseTerm& b) {
  return formula(Op::Multiply, {a.term, b.term});
}
PointwiseTerm operator/(const PointwiseTerm& a, const PointwiseTerm& b) {
  return formula(Op::Divide, {a.term, b.term});
}
PointwiseTerm operator-(const PointwiseTerm& a) {
  return formula(Op::Negate, {a.term});
}
PointwiseTerm operator<(const PointwiseTerm& a, const PointwiseTerm& b) {
  return formula(Op::Less, {a.term, b.term});
}
PointwiseTerm operator<=(const PointwiseTerm& a, const PointwiseTerm& b) {
  return formula(Op::LessEqual, {a.term, b.term});
}
// Less and LessEqual are all that expressions have; the others exchange their values.
PointwiseTerm operator>(const PointwiseTerm& a, const PointwiseTerm& b) {
  return b < a;
}
PointwiseTerm operator>=(const PointwiseTerm& a, const PointwiseTerm& b) {
  return b <= a;
}
PointwiseTerm equal(const PointwiseTerm& a, const PointwiseTerm& b) {
  return formula(Op::Equal, {a.term, b.term});
}
PointwiseTerm select(const PointwiseTerm& condition, const PointwiseTerm& then,
                     const PointwiseTerm& otherwise) {
  return formula(Op::Select, {condition.term, then.term, otherwise.term});
}
PointwiseTerm min(const PointwiseTerm& a, const PointwiseTerm& b) {
  return formula(Op::Min, {a.term, b.term});
}
PointwiseTerm max(const PointwiseTerm& a, const PointwiseTerm& b) {
  return formula(Op::Max, {a.term, b.term});
}
PointwiseTerm pow(const PointwiseTerm& a, const PointwiseTerm& b) {
  return formula(Op::Pow, {a.term, b.term});
}
PointwiseTerm sqrt(const PointwiseTerm& a) {
  return formula(Op::Sqrt, {a.term});
}
PointwiseTerm exp(const PointwiseTerm& a) {
  return formula(Op::Exp, {a.term});
}
PointwiseTerm log(const PointwiseTerm& a) {
  return formula(Op::Log, {a.term});
}
PointwiseTerm tanh(const PointwiseTerm& a) {
  return formula(Op::Tanh, {a.term});
}
PointwiseTerm abs(const PointwiseTerm& a) {
  return formula(Op::Abs, {a.term});
}
PointwiseTerm relu(const PointwiseTerm& a) {
  return PointwiseTerm(relu_term(a.term));
}
PointwiseTerm cast(ElementType type, const PointwiseTerm& a) {
  return PointwiseTerm(converted(type, a.term));
}
PointwiseTerm index(int dim) {
  return PointwiseTerm(index_term(dim));
}
PointwiseTerm random(int stream) {
  return PointwiseTerm(random_term(stream));
}

TensorLayout replicated() {
  return {};
}
TensorLayout local() {
  return {.kind = LayoutKind::Local};
}
TensorLayout sliced(int dim) {
  return {.kind = LayoutKind::Sliced, .dim = dim};
}
TensorLayout rooted(int rank) {
  return {.kind = LayoutKind::Rooted, .root = rank};
}

// A value that is too large is reported where it is used.
Side operator*(const Side& a, const Side& b) {
  const auto times = [](std::int64_t x, std::int64_t y) {
    return x > 0 && y > 0 && x <= kMostElements / y ? x * y : -1;
  };
  Extent product = a.extent;
  product.factor = times(product.factor, b.extent.factor);
  product.value = times(product.value, b.extent.value);
  product.sizes.insert(product.sizes.end(), b.extent.sizes.begin(), b.extent.sizes.end());
  return Side(product);
}

Builder::Builder(const std::string& name, const BuildOptions& options) {
  draft_.workload.name = name;
  draft_.workload.ranks = options.ranks;
  draft_.workload.groups = options.groups;
}

Side Builder::size(const std::string& name, std::int64_t value) {
  draft_.workload.sizes.push_back({.name = name, .value = value});
  draft_.taken.insert(name);
  return Side(Extent{.sizes = {name}, .value = value});
}

Tensor Builder::tensor(const std::string& name, ElementType element, const std::vector<Side>& shape,
                       TensorLayout layout, const InputOptions& options) {
  Operation input{.name = name,
                  .type = {.element = element,
                           .layout = layout,
                           .scope = options.scope,
                           .first_group = options.first_group,
                           .last_group = options.last_group},
                  .state = options.state,
                  .scattered = options.scattered};
  if (options.last_group < 0) input.type.last_group = draft_.workload.groups - 1;
  for (const Side& side : shape) input.type.shape.push_back(side.extent);
  return add(std::move(input));
}

Tensor Builder::scalar(const std::string& name, ElementType element, const InputOptions& options) {
  return tensor(name, element, {}, replicated(), options);
}

Tensor Builder::let(const std::string& name, const PointwiseTerm& value) {
  return add(pointwise(name, value.term));
}

Tensor Builder::update(const std::string& name, const Tensor& input, const PointwiseTerm& value) {
  Operation operation = pointwise(name, value.term);
  operation.updates = input.name;
  return add(std::move(operation));
}

// Only the result that was added last can be stored: what comes after may have read the input by its old
// name.
Tensor Builder::store(const Tensor& input, const Tensor& result) {
  std::vector<Operation>& operations = draft_.workload.operations;
  if (operations.empty() || operations.back().name != result.name)
    throw InputError(draft_.workload.name,
                     fmt::format("{} is to be stored in {}, and was not added last", result.name, input.name),
                     "store a result as it is added");
  operations.back().updates = input.name;
  return result;
}

// Typed as it is added, so an error is thrown where the operation is written, with the program's name.
Tensor Builder::add(Operation operation) {
  const Tensor result{operation.name};
  draft_.add(std::move(operation), draft_.workload.name);
  return result;
}

// An operand that is more than a name becomes an operation before this one.
Tensor Builder::add(Operation operation, const std::vector<PointwiseTerm>& operands) {
  for (const PointwiseTerm& operand : operands)
    operation.operands.push_back(draft_.named(operand.term, operation.name, draft_.workload.name));
  return add(std::move(operation));
}

Tensor Builder::all_reduce(const std::string& name, ReduceOp op, const PointwiseTerm& value, Scope over) {
  return add({.kind = Kind::AllReduce, .name = name, .reduction = op, .over = over}, {value});
}
Tensor Builder::reduce_scatter(const std::string& name, ReduceOp op, const PointwiseTerm& value, int dim,
                               Scope over) {
  return add(
      {.kind = Kind::ReduceScatter, .name = name, .reduction = op, .layout = sliced(dim), .over = over},
      {value});
}
Tensor Builder::all_gather(const std::string& name, const PointwiseTerm& value) {
  return add({.kind = Kind::AllGather, .name = name}, {value});
}
Tensor Builder::reduce(const std::string& name, ReduceOp op, const PointwiseTerm& value, int root) {
  return add({.kind = Kind::Reduce, .name = name, .reduction = op, .layout = rooted(root)}, {value});
}
Tensor Builder::broadcast(const std::string& name, const PointwiseTerm& value) {
  return add({.kind = Kind::Broadcast, .name = name}, {value});
}
Tensor Builder::all_to_all(const std::string& name, const PointwiseTerm& value) {
  return add({.kind = Kind::AllToAll, .name = name}, {value});
}
Tensor Builder::send(const std::string& name, const PointwiseTerm& value, int shift) {
  return add({.kind = Kind::Send, .name = name, .shift = shift}, {value});
}
Tensor Builder::all_to_all_v(const std::string& name, const PointwiseTerm& value, const PointwiseTerm& counts,
                             const Side& rows) {
  return add({.kind = Kind::AllToAllV, .name = name, .shape = {rows.extent}}, {value, counts});
}
Tensor Builder::slice(const std::string& name, const PointwiseTerm& value, int dim, Scope over) {
  return add({.kind = Kind::Slice, .name = name, .layout = sliced(dim), .over = over}, {value});
}
Tensor Builder::matmul(const std::string& name, const PointwiseTerm& a, const PointwiseTerm& b) {
  return add({.kind = Kind::MatMul, .name = name}, {a, b});
}
Tensor Builder::convolution(const std::string& name, const PointwiseTerm& images,
                            const PointwiseTerm& windows, int stride, int padding) {
  return add({.kind = Kind::Convolution, .name = name, .stride = stride, .padding = padding},
             {images, windows});
}
Tensor Builder::reduce_tensor(const std::string& name, ReduceOp op, const PointwiseTerm& value) {
  return add({.kind = Kind::ReduceTensor, .name = name, .reduction = op}, {value});
}
// Norms, means and the like are several operations, of which the last, pointwise one has the name.
Tensor Builder::norm(const std::string& name, const PointwiseTerm& value) {
  return add(pointwise(name, draft_.norm(value.term, name, draft_.workload.name)));
}
Tensor Builder::reduce_along(const std::string& name, ReduceOp op, const PointwiseTerm& value, int dim) {
  return add({.kind = Kind::ReduceAlong, .name = name, .reduction = op, .dims = {dim}}, {value});
}
Tensor Builder::transpose(const std::string& name, const PointwiseTerm& value, int dim, int other) {
  return add({.kind = Kind::Transpose, .name = name, .dims = {dim, other}}, {value});
}
Tensor Builder::reshape(const std::string& name, const PointwiseTerm& value, const std::vector<Side>& shape) {
  Operation operation{.kind = Kind::Reshape, .name = name};
  for (const Side& side : shape) operation.shape.push_back(side.extent);
  return add(std::move(operation), {value});
}
Tensor Builder::narrow(const std::string& name, const PointwiseTerm& value, int dim, const Side& begin,
                       const Side& length) {
  return add({.kind = Kind::Narrow, .name = name, .dims = {dim}, .shape = {begin.extent, length.extent}},
             {value});
}
Tensor Builder::concat(const std::string& name, int dim, const std::vector<PointwiseTerm>& values) {
  return add({.kind = Kind::Concat, .name = name, .dims = {dim}}, values);
}
Tensor Builder::gather_rows(const std::string& name, const PointwiseTerm& value,
                            const PointwiseTerm& numbers) {
  return add({.kind = Kind::GatherRows, .name = name}, {value, numbers});
}
Tensor Builder::scatter_rows(const std::string& name, const PointwiseTerm& value,
                             const PointwiseTerm& numbers, const Side& rows) {
  return add({.kind = Kind::ScatterRows, .name = name, .shape = {rows.extent}}, {value, numbers});
}
Tensor Builder::mean(const std::string& name, const PointwiseTerm& value, int dim) {
  return add(pointwise(name, draft_.mean(value.term, dim, name, draft_.workload.name)));
}
Tensor Builder::softmax(const std::string& name, const PointwiseTerm& value, int dim) {
  return add(pointwise(name, draft_.softmax(value.term, dim, name, draft_.workload.name)));
}
Tensor Builder::rms_norm(const std::string& name, const PointwiseTerm& value, const PointwiseTerm& weight,
                         double epsilon) {
  return add(pointwise(name, draft_.rms_norm(value.term, weight.term, epsilon, name, draft_.workload.name)));
}
Tensor Builder::layer_norm(const std::string& name, const PointwiseTerm& value, const PointwiseTerm& weight,
                           const PointwiseTerm& bias, double epsilon) {
  return add(pointwise(
      name, draft_.layer_norm(value.term, weight.term, bias.term, epsilon, name, draft_.workload.name)));
}

PointwiseTerm Builder::rank() {
  return PointwiseTerm(draft_.constant(Kind::Rank));
}
PointwiseTerm Builder::group() {
  return PointwiseTerm(draft_.constant(Kind::Group));
}
PointwiseTerm Builder::world() {
  return PointwiseTerm(draft_.constant(Kind::Ranks));
}
PointwiseTerm Builder::number(const Side& side) {
  return PointwiseTerm(draft_.side(side.extent));
}

// Each dropout has a stream of its own, in the order in which they are built: beyond all that random() can
// name, until finish() puts them behind the largest that it named.
PointwiseTerm Builder::dropout(const PointwiseTerm& value, double probability) {
  if (!(probability >= 0 && probability < 1))
    throw InputError(draft_.workload.name, fmt::format("a dropout with the probability {}", probability),
                     "probabilities are 0 to less than 1");
  return PointwiseTerm(dropout_term(value.term, probability, kFirstOfDropouts + streams_++));
}

void Builder::kernel(const std::string& name, const std::function<void()>& operations) {
  draft_.kernel = name;
  operations();
  draft_.kernel.clear();
}

void Builder::overlap(const std::string& name, const std::function<void()>& operations) {
  draft_.overlap = name;
  operations();
  draft_.overlap.clear();
}

void Builder::returns(const std::vector<Tensor>& tensors) {
  for (const Tensor& each : tensors) draft_.workload.outputs.push_back(each.name);
}

// The draft stays as it was, so more can be added and finished again.
Workload Builder::finish() const {
  Workload workload = draft_.workload;
  double next = 0;
  const auto each_stream = [&](const auto& visit) {
    for (Operation& operation : workload.operations)
      for (ExpressionNode& node : operation.expression)
        if (node.op == Op::Random) visit(node.constant);
  };
  each_stream([&](double stream) {
    if (stream < kFirstOfDropouts) next = std::max(next, stream + 1);
  });
  each_stream([&](double& stream) {
    if (stream >= kFirstOfDropouts) stream += next - kFirstOfDropouts;
  });
  return inferred(workload, workload.name).or_throw();
}

}  // namespace chorale
