// The table is in the order of OperationKind, so that a row is found by its index.
//
// Kinds that texts do not call have rows too: inputs and constants without arguments, and pointwise
// operations, whose expression is their text. What an argument means is in two switches, one for each
// direction: a field is printed here, and read in parse_expression.cpp.
#include "tensor/language/operation_forms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "ir/expression_text.h"

namespace chorale {
namespace {

using Kind = OperationKind;
using Arg = ArgumentKind;

// RANK and GROUP differ from rank to rank, so they are Local; WORLD and sizes are the same everywhere.
OrError<TensorType> rank_type(const Typing&) {
  return TensorType{.element = ElementType::Int32, .layout = {.kind = LayoutKind::Local}};
}

OrError<TensorType> number_type(const Typing&) {
  return TensorType{.element = ElementType::Int32};
}

// Sizes go up to 2^48, numbers of a program to 2^31 - 1.
OrError<TensorType> size_type(const Typing& typing) {
  const std::vector<WorkloadSize>& sizes = typing.workload.sizes;
  const auto size = std::ranges::find(sizes, typing.operation.name, &WorkloadSize::name);
  if (size == sizes.end()) return typing.fail("there is no size of that name", "declare it");
  if (size->value > std::numeric_limits<std::int32_t>::max())
    return typing.fail(fmt::format("{} is too large for an int32 number", size->value),
                       "as a number, 2^31 - 1 is the most");
  return number_type(typing);
}

// An argument with words stands behind a comma; the words are what an error expects there. One without comes
// first, or may be left out.
const std::vector<OperationForm>& forms() {
  static const std::vector<OperationForm> kForms = {
      {Kind::Input, {}, input_type},
      {Kind::Rank, {}, rank_type},
      {Kind::Group, {}, rank_type},
      {Kind::Ranks, {}, number_type},
      {Kind::Size, {}, size_type},
      {Kind::Pointwise, {{Arg::Tensors}}, pointwise_type},
      {Kind::MatMul, {{Arg::Tensor}, {Arg::Tensor, "and the second tensor"}}, matmul_type},
      {Kind::Convolution,
       {{Arg::Tensor}, {Arg::Tensor, "and the second tensor"}, {Arg::Windows}},
       convolution_type},
      {Kind::ReduceTensor, {{Arg::Reduction}, {Arg::Tensor, "and what is reduced"}}, reduce_tensor_type},
      {Kind::ReduceAlong,
       {{Arg::Reduction}, {Arg::Tensor, "and what is reduced"}, {Arg::Dimension, "and the dimension"}},
       reduce_along_type},
      {Kind::ScanAlong,
       {{Arg::Reduction}, {Arg::Tensor, "and what is added up"}, {Arg::Dimension, "and the dimension"}},
       scan_along_type},
      {Kind::TopK,
       {{Arg::Tensor}, {Arg::Dimension, "and the dimension"}, {Arg::Length, "and how many"}},
       top_k_type},
      {Kind::TakeAlong,
       {{Arg::Tensor}, {Arg::Tensor, "and the numbers"}, {Arg::Dimension, "and the dimension"}},
       take_along_type},
      {Kind::Transpose,
       {{Arg::Tensor}, {Arg::Dimension, "and a dimension"}, {Arg::Dimension, "and the other dimension"}},
       transpose_type},
      {Kind::Reshape, {{Arg::Tensor}, {Arg::Shape, "and the shape"}}, reshape_type},
      {Kind::Narrow,
       {{Arg::Tensor},
        {Arg::Dimension, "and a dimension"},
        {Arg::Begin, "and where it begins"},
        {Arg::Length, "and how many"}},
       narrow_type},
      {Kind::Concat, {{Arg::Dimension}, {Arg::Tensors, "and what is concatenated"}}, concat_type},
      {Kind::GatherRows, {{Arg::Tensor}, {Arg::Tensor, "and the numbers of rows"}}, gather_rows_type},
      {Kind::ScatterRows,
       {{Arg::Tensor},
        {Arg::Tensor, "and the numbers of rows"},
        {Arg::Length, "and how many rows there are"}},
       scatter_rows_type},
      {Kind::PutRows,
       {{Arg::Tensor}, {Arg::Tensor, "and its new rows"}, {Arg::Tensor, "and the numbers of rows"}},
       put_rows_type},
      {Kind::Slice, {{Arg::Tensor}, {Arg::Slices}, {Arg::Group}}, collective_type},
      {Kind::AllReduce,
       {{Arg::Reduction}, {Arg::Tensor, "and what is reduced"}, {Arg::Scope}},
       collective_type},
      {Kind::ReduceScatter,
       {{Arg::Reduction}, {Arg::Tensor, "and what is reduced"}, {Arg::Slices}, {Arg::Group}},
       collective_type},
      {Kind::AllGather, {{Arg::Tensor}}, collective_type},
      {Kind::Reduce,
       {{Arg::Reduction}, {Arg::Tensor, "and what is reduced"}, {Arg::Root, "and the root"}},
       collective_type},
      {Kind::Broadcast, {{Arg::Tensor}}, collective_type},
      {Kind::AllToAll, {{Arg::Tensor}}, all_to_all_type},
      {Kind::AllToAllV,
       {{Arg::Tensor},
        {Arg::Tensor, "and how many rows go to each rank"},
        {Arg::Length, "and how many rows there are"}},
       all_to_all_v_type},
      {Kind::Send, {{Arg::Tensor}, {Arg::Shift, "and GROUP + 1 or RANK + 1"}}, send_type},
  };
  return kForms;
}

// Dimensions, lengths and operands are taken one after the other, since a form may have several of each:
// Transpose(x, 0, 1), Narrow(x, 0, 16, 8), ScatterRows(x, n, 64).
class CallPrinter {
 public:
  explicit CallPrinter(const Operation& operation) : operation_(operation) {}

  std::string text() {
    for (const Argument& argument : form_of(operation_.kind).arguments) print(argument.kind);
    return fmt::format("{}({})", to_string(operation_.kind), fmt::join(words_, ", "));
  }

 private:
  void print(ArgumentKind argument) {
    switch (argument) {
      case Arg::Tensor:
        return put(operation_.operands[operand_++]);
      case Arg::Tensors:
        while (operand_ < operation_.operands.size()) put(operation_.operands[operand_++]);
        return;
      case Arg::Reduction:
        return put(fmt::format("\"{}\"", word_for(kReductionWords, operation_.reduction)));
      case Arg::Dimension:
        return put(std::to_string(operation_.dims[dimension_++]));
      case Arg::Shape:
        return put(to_string(operation_.shape));
      case Arg::Begin:
      case Arg::Length:
        return put(to_string(operation_.shape[length_++]));
      case Arg::Slices:
        return put(operation_.layout.dim == kFlat ? "flat" : std::to_string(operation_.layout.dim));
      case Arg::Root:
        return put(std::to_string(operation_.layout.root));
      case Arg::Group:
      case Arg::Scope:
        if (operation_.over != Scope::World) put(operation_.over == Scope::Group ? "GROUP" : "ACROSS");
        return;
      case Arg::Shift:
        return put(
            fmt::format("{} {} 1", operation_.around ? "RANK" : "GROUP", operation_.shift > 0 ? '+' : '-'));
      case Arg::Windows:
        put(fmt::format("stride = {}", operation_.stride));
        put(fmt::format("padding = {}", operation_.padding));
    }
  }
  void put(std::string word) { words_.push_back(std::move(word)); }

  const Operation& operation_;
  std::vector<std::string> words_ = {};
  std::size_t operand_ = 0, dimension_ = 0, length_ = 0;  // of those of a kind, the next one
};

}  // namespace

const OperationForm& form_of(OperationKind kind) {
  const OperationForm& form = forms()[static_cast<std::size_t>(kind)];
  assert(form.kind == kind);
  return form;
}

// Kinds behind Pointwise are called by their names; those before it are declared, or have words of their own.
std::optional<OperationKind> called_kind(std::string_view name) {
  for (const OperationForm& form : forms())
    if (form.kind > Kind::Pointwise && to_string(form.kind) == name) return form.kind;
  return {};
}

std::vector<std::string> called_names() {
  std::vector<std::string> names;
  for (const OperationForm& form : forms())
    if (form.kind > Kind::Pointwise) names.push_back(to_string(form.kind));
  return names;
}

int operand_count(const OperationForm& form) {
  const auto is = [&](ArgumentKind kind) {
    return static_cast<int>(std::ranges::count(form.arguments, kind, &Argument::kind));
  };
  return is(Arg::Tensors) > 0 ? -1 : is(Arg::Tensor);
}

// All kinds have a name, operands, a type, and may update an input or be in a kernel; a constant is in none.
// A field that means nothing for the kind (a Send's stride) cannot make two equal programs differ.
Operation with_fields_of_kind(const Operation& operation) {
  const std::vector<Argument>& arguments = form_of(operation.kind).arguments;
  const auto has = [&](auto... kinds) {
    return std::ranges::any_of(arguments,
                               [&](const Argument& each) { return ((each.kind == kinds) || ...); });
  };
  Operation result = operation;
  if (operation.kind != Kind::Input) result.state = result.scattered = false;
  if (operation.kind != Kind::Pointwise) result.expression = {}, result.casts = false;
  if (is_constant(operation.kind)) result.kernel = result.overlap = "";
  if (!has(Arg::Reduction)) result.reduction = ReduceOp::Sum;
  if (!has(Arg::Dimension)) result.dims = {};
  if (!has(Arg::Shape, Arg::Begin, Arg::Length) && operation.kind != Kind::Pointwise) result.shape = {};
  if (!has(Arg::Slices, Arg::Root)) result.layout = {};
  if (!has(Arg::Group, Arg::Scope)) result.over = Scope::World;
  if (!has(Arg::Shift)) result.shift = 1, result.around = false;
  if (!has(Arg::Windows)) result.stride = 1, result.padding = 0;
  return result;
}

// What a text calls, or the expression; a cast of the result is written around it, and then its shape.
std::string call_text(const Operation& operation) {
  if (operation.kind != Kind::Pointwise) return CallPrinter(operation).text();
  std::string text = to_string(operation.expression, operation.operands);
  if (operation.casts) text = fmt::format("Cast({}, {})", short_name(operation.type.element), text);
  return operation.shape.empty() ? text : fmt::format("Expand({}, {})", text, to_string(operation.shape));
}

}  // namespace chorale
