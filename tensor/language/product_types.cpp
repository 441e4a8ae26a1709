// Matrix products and convolutions, which libraries compute on each rank by itself. A layout of the result
// follows where what the ranks compute by themselves is a part of it, its slice, or a summand; nothing else
// has a type.
#include <fmt/format.h>

#include "tensor/language/typing.h"

namespace chorale {
namespace {

constexpr TensorLayout kReplicatedLayout{.kind = LayoutKind::Replicated};
constexpr TensorLayout kLocalLayout{.kind = LayoutKind::Local};
constexpr TensorLayout sliced_layout(int dim) {
  return {.kind = LayoutKind::Sliced, .dim = dim};
}

bool is_sliced(const TensorType& type, int dim) {
  return type.layout.kind == LayoutKind::Sliced && type.layout.dim == dim;
}

MaybeError require_real_and_same(const Typing& typing) {
  const TensorType &a = *typing.operands[0], &b = *typing.operands[1];
  if (a.element != b.element)
    return typing.fail(
        fmt::format("{} and {} have elements of two types", typing.shown_operand(0), typing.shown_operand(1)),
        "Cast one of them");
  if (a.element == ElementType::Int32)
    return typing.fail(
        fmt::format("{} has integers, which libraries do not multiply", typing.shown_operand(0)),
        "Cast both to fp32 or fp64");
  return {};
}

bool is_replicated(const TensorType& type) {
  return type.layout.kind == LayoutKind::Replicated;
}

// Each rank multiplies what it has: Local by Local or Replicated, in either order.
bool makes_local(const TensorType& a, const TensorType& b) {
  const auto fits = [](const TensorType& type) {
    return type.layout.kind == LayoutKind::Local || is_replicated(type);
  };
  return fits(a) && fits(b) && !(is_replicated(a) && is_replicated(b));
}

// The rows of docs/workloads.md. a [.., M, K] by b [K, N]: cut along K both, each rank has summands of all
// of the result (row parallel, after Megatron); b cut along N, each has columns (column parallel); a cut
// along M or a batch dimension, each has those rows.
OrError<TensorLayout> matmul_layout(const Typing& typing) {
  const TensorType &a = *typing.operands[0], &b = *typing.operands[1];
  const int last = static_cast<int>(a.shape.size()) - 1;
  const int k_side = static_cast<int>(b.shape.size()) - 2, n_side = k_side + 1;
  if (is_replicated(a) && is_replicated(b)) return kReplicatedLayout;
  if (makes_local(a, b)) return kLocalLayout;
  if (is_sliced(a, last) && is_sliced(b, k_side)) return kLocalLayout;  // summands
  if (is_replicated(a) && is_sliced(b, n_side)) return sliced_layout(last);
  if (a.layout.kind == LayoutKind::Sliced && a.layout.dim != kFlat && a.layout.dim < last && is_replicated(b))
    return a.layout;
  if (a.layout.kind == LayoutKind::Sliced && a.layout == b.layout && a.layout.dim != kFlat &&
      a.layout.dim < k_side && a.shape.size() == b.shape.size())
    return a.layout;  // each rank has some of the batch
  return typing.fail(
      fmt::format("no rank can compute its part of {} by {} from what it has", typing.shown_operand(0),
                  typing.shown_operand(1)),
      "the layouts may be Sliced(last) by Sliced(the side summed over), which gives Local summands; "
      "Replicated by "
      "Sliced(last); Sliced(another than last) by Replicated, or by the same if it is of the batch; "
      "Local by Local or Replicated");
}

// The same with channels in place of K: images [N, C, H, W], windows [O, C, h, w]. Cut along C both:
// summands.
OrError<TensorLayout> convolution_layout(const Typing& typing) {
  const TensorType &a = *typing.operands[0], &b = *typing.operands[1];
  if (is_replicated(a) && is_replicated(b)) return kReplicatedLayout;
  if (makes_local(a, b)) return kLocalLayout;
  if (is_sliced(a, 1) && is_sliced(b, 1)) return kLocalLayout;  // summands
  if (is_sliced(a, 0) && is_replicated(b)) return sliced_layout(0);
  if (is_replicated(a) && is_sliced(b, 0)) return sliced_layout(1);
  return typing.fail(
      fmt::format("no rank can compute its part of the convolution of {} with {} from what it has",
                  typing.shown_operand(0), typing.shown_operand(1)),
      "the layouts may be Sliced(1) with Sliced(1), which gives Local summands; Sliced(0) with Replicated; "
      "Replicated with Sliced(0); Local with Local or Replicated");
}

// (in + 2 * padding - window) / stride + 1; the same side where that is the same length.
// With "same" padding the side keeps its name: [N, C, H, W] stays [.., H, W], and not [.., 224, 224].
OrError<Extent> window_side(const Typing& typing, const Extent& in, const Extent& window) {
  const Operation& operation = typing.operation;
  const std::int64_t room = in.value + 2 * std::int64_t{operation.padding} - window.value;
  if (room < 0)
    return typing.fail(
        fmt::format("its window, {} long, is longer than what it is moved over, {} with the padding",
                    window.value, in.value + 2 * std::int64_t{operation.padding}),
        "pad more");
  const std::int64_t length = room / operation.stride + 1;
  return length == in.value ? in : Extent{.factor = length, .value = length};
}

}  // namespace

// [.., M, K] by [K, N], one matrix for all, or by [.., K, N], one for each. Shapes first, then elements,
// groups and layouts, so that the first error is of what is most wrong.
OrError<TensorType> matmul_type(const Typing& typing) {
  const TensorType &a = *typing.operands[0], &b = *typing.operands[1];
  const std::size_t dimensions = a.shape.size();
  if (dimensions < 2 || b.shape.size() < 2)
    return typing.fail(
        fmt::format("{} by {}: matrices have two sides", typing.shown_operand(0), typing.shown_operand(1)),
        "give vectors a side of 1");
  if (b.shape.size() != 2 && b.shape.size() != dimensions)
    return typing.fail(fmt::format("{} by {}: the second is neither one matrix nor as many as the first",
                                   typing.shown_operand(0), typing.shown_operand(1)),
                       "give it two sides, or the leading ones of the first");
  for (std::size_t d = 0; d + 2 < b.shape.size(); ++d)
    if (a.shape[d].value != b.shape[d].value)
      return typing.fail(fmt::format("{} by {}: {} matrices by {}", typing.shown_operand(0),
                                     typing.shown_operand(1), to_string(a.shape[d]), to_string(b.shape[d])),
                         "leading sides have to be the same");
  if (a.shape.back().value != b.shape[b.shape.size() - 2].value)
    return typing.fail(
        fmt::format("{} by {}: rows of {} by columns of {}", typing.shown_operand(0), typing.shown_operand(1),
                    to_string(a.shape.back()), to_string(b.shape[b.shape.size() - 2])),
        "the last side of the first is the one before the last of the second");
  if (auto error = require_real_and_same(typing)) return *error;
  const OrError<TensorType> scope = scoped(typing);
  if (!scope) return scope;
  TensorType result = *scope;
  result.shape = a.shape;
  result.shape.back() = b.shape.back();
  const OrError<TensorLayout> layout = matmul_layout(typing);
  if (!layout) return layout.error();
  result.layout = *layout;
  return result;
}

// Images [N, C, H, W] with windows [O, C, h, w] give [N, O, H', W'].
OrError<TensorType> convolution_type(const Typing& typing) {
  constexpr int kMostWindow = 1 << 20;
  const TensorType &a = *typing.operands[0], &b = *typing.operands[1];
  const Operation& operation = typing.operation;
  if (a.shape.size() != 4 || b.shape.size() != 4)
    return typing.fail(
        fmt::format("{} with {}: both have four sides", typing.shown_operand(0), typing.shown_operand(1)),
        "images are [N, C, H, W], windows [O, C, h, w]");
  if (a.shape[1].value != b.shape[1].value)
    return typing.fail(fmt::format("{} with {}: {} channels with {}", typing.shown_operand(0),
                                   typing.shown_operand(1), to_string(a.shape[1]), to_string(b.shape[1])),
                       "the second sides have to be the same");
  if (operation.stride < 1 || operation.stride > kMostWindow || operation.padding < 0 ||
      operation.padding > kMostWindow)
    return typing.fail(fmt::format("a stride of {} and padding of {}", operation.stride, operation.padding),
                       fmt::format("strides are 1 to {}, paddings 0 to {}", kMostWindow, kMostWindow));
  if (auto error = require_real_and_same(typing)) return *error;
  const OrError<TensorType> scope = scoped(typing);
  if (!scope) return scope;
  TensorType result = *scope;
  result.shape = {a.shape[0], b.shape[0]};
  for (const int d : {2, 3}) {
    const OrError<Extent> side = window_side(typing, a.shape[d], b.shape[d]);
    if (!side) return side.error();
    result.shape.push_back(*side);
  }
  const OrError<TensorLayout> layout = convolution_layout(typing);
  if (!layout) return layout.error();
  result.layout = *layout;
  return result;
}

}  // namespace chorale
