// Operations that move elements of what a rank has, and change none: the layout of a result follows where
// each rank has what its part consists of.
#include <fmt/format.h>

#include "ir/words.h"
#include "tensor/language/infer.h"
#include "tensor/language/typing.h"

namespace chorale {
namespace {

bool is_cut(const TensorType& type) {
  return type.layout.kind == LayoutKind::Sliced;
}

MaybeError require_dimension(const Typing& typing, int dim, const TensorType& type) {
  if (dim < 0 || dim >= dimensions(type))
    return typing.fail(fmt::format("dimension {}, counted from 0, is none of {}", dim, to_string(type)),
                       fmt::format("it has {}", counted(dimensions(type), "dimension")));
  return {};
}
// Flat slices are of no dimension.
MaybeError require_not_flat(const Typing& typing, std::size_t k) {
  if (is_cut(*typing.operands[k]) && typing.operands[k]->layout.dim == kFlat)
    return typing.fail(fmt::format("{} has flat slices", typing.shown_operand(k)),
                       "slice it along a dimension, or AllGather it");
  return {};
}
MaybeError require_whole_along(const Typing& typing, std::size_t k, int dim) {
  if (auto error = require_not_flat(typing, k)) return *error;
  if (is_cut(*typing.operands[k]) && typing.operands[k]->layout.dim == dim)
    return typing.fail(fmt::format("{} is sliced along that dimension", typing.shown_operand(k)),
                       "slice it along another one, or AllGather it");
  return {};
}

std::int64_t length_of(const TensorShape& shape, std::size_t from, std::size_t to) {
  std::int64_t count = 1;
  for (std::size_t d = from; d < to; ++d) count *= shape[d].value;
  return count;
}

// The dimension of the new shape along which slices are the same elements; -1: none.
// Row-major order: a slice along a dimension keeps its elements together if the product of the sides
// before it is the same in both shapes. [B, S, H] cut along S as [B, S, heads, d] stays cut along S. The
// side itself may change where ranks divide both: [4*H] as [4, H] cut 4 ways is still each rank's quarter.
int reshaped_dim(const TensorType& type, const TensorShape& shape, int ranks) {
  const auto dim = static_cast<std::size_t>(type.layout.dim);
  const std::int64_t before = length_of(type.shape, 0, dim), side = type.shape[dim].value;
  int found = -1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (length_of(shape, 0, d) != before) continue;
    if (shape[d] == type.shape[dim]) return static_cast<int>(d);
    const bool fits = shape[d].value == side || (side % ranks == 0 && shape[d].value % ranks == 0);
    if (fits && found < 0) found = static_cast<int>(d);
  }
  return found;
}

MaybeError require_indices_of_rows(const Typing& typing, std::size_t k) {
  if (typing.operands[k]->element != ElementType::Int32)
    return typing.fail(fmt::format("{} has the numbers of rows", typing.shown_operand(k)),
                       "Cast it to int32");
  if (typing.operands[0]->shape.empty())
    return typing.fail(fmt::format("{} is a scalar, which has no rows", typing.shown_operand(0)),
                       "give it a tensor with dimensions");
  return {};
}

// Which layouts fit is listed, since there is no single remedy.
[[nodiscard]] InputError fail_rows(const Typing& typing, const std::string& layouts) {
  return typing.fail(fmt::format("no rank can compute its part of the rows of {} by {} from what it has",
                                 typing.shown_operand(0), typing.shown_operand(1)),
                     "the layouts may be " + layouts);
}

// All whole on each rank that has them; of Replicated ones and a Local one the result is Local.
bool in_full(const Typing& typing, TensorLayout& layout) {
  const auto has_all = [](const TensorLayout& x) {
    return x.kind == LayoutKind::Replicated || x.kind == LayoutKind::Local;
  };
  layout = typing.only().layout;
  for (const TensorType* type : typing.operands) {
    const TensorLayout& other = type->layout;
    if (!(has_all(layout) && has_all(other)) && !(layout.kind == LayoutKind::Rooted && layout == other))
      return false;
    if (layout.kind == LayoutKind::Replicated) layout = other;
  }
  return true;
}

}  // namespace

// Along a dimension that is whole everywhere.
namespace {

OrError<TensorType> along_type(const Typing& typing) {
  if (typing.operation.dims.size() != 1) return typing.fail("has no dimension");
  const int dim = typing.operation.dims[0];
  if (auto error = require_dimension(typing, dim, typing.only())) return *error;
  for (std::size_t k = 0; k < typing.operands.size(); ++k)
    if (auto error = require_whole_along(typing, k, dim)) return *error;
  return typing.only();
}

}  // namespace

OrError<TensorType> scan_along_type(const Typing& typing) {
  if (auto error = require_reduction(typing)) return *error;
  return along_type(typing);
}

OrError<TensorType> top_k_type(const Typing& typing) {
  OrError<TensorType> result = along_type(typing);
  if (!result) return result;
  if (typing.operation.shape.size() != 1) return typing.fail("has no number of elements");
  Extent& side = result->shape[typing.operation.dims[0]];
  const Extent& count = typing.operation.shape[0];
  if (count.value > side.value)
    return typing.fail(fmt::format("{} of {} along dimension {}, which has {}", to_string(count),
                                   typing.shown_operand(0), typing.operation.dims[0], to_string(side)),
                       "take as many as there are, or fewer");
  side = count;
  result->element = ElementType::Int32;
  return result;
}

OrError<TensorType> take_along_type(const Typing& typing) {
  if (OrError<TensorType> type = along_type(typing); !type) return type;
  const TensorType& of = typing.only();
  const TensorType& numbers = *typing.operands[1];
  if (numbers.element != ElementType::Int32)
    return typing.fail(fmt::format("{} has the numbers of elements", typing.shown_operand(1)),
                       "Cast it to int32");
  const OrError<TensorType> scope = scoped(typing);
  if (!scope) return scope;
  TensorType result = *scope;
  result.shape = numbers.shape;
  TensorShape sides = numbers.shape;
  const auto dim = static_cast<std::size_t>(typing.operation.dims[0]);
  if (sides.size() == of.shape.size()) sides[dim] = of.shape[dim];
  if (!same_sides(sides, of.shape))
    return typing.fail(fmt::format("{} and {} differ in more than the length of dimension {}",
                                   typing.shown_operand(0), typing.shown_operand(1), dim),
                       "the other sides have to be the same");
  if (is_cut(numbers) && numbers.layout == of.layout)
    result.layout = numbers.layout;
  else if (!in_full(typing, result.layout))
    return fail_rows(typing, "Replicated or Local with such, or slices along one other dimension");
  return result;
}

// Slices go where their dimension goes.
OrError<TensorType> transpose_type(const Typing& typing) {
  const std::vector<int>& dims = typing.operation.dims;
  if (dims.size() != 2 || dims[0] == dims[1]) return typing.fail("transposes two different dimensions");
  TensorType result = typing.only();
  for (const int dim : dims)
    if (auto error = require_dimension(typing, dim, result)) return *error;
  if (auto error = require_not_flat(typing, 0)) return *error;
  std::swap(result.shape[dims[0]], result.shape[dims[1]]);
  if (is_cut(result))
    result.layout.dim = result.layout.dim == dims[0]   ? dims[1]
                        : result.layout.dim == dims[1] ? dims[0]
                                                       : result.layout.dim;
  return result;
}

// Flat slices are the same elements under any shape; slices along a dimension only if one of the new shape
// keeps them.
OrError<TensorType> reshape_type(const Typing& typing) {
  TensorType result = typing.only();
  result.shape = typing.operation.shape;
  if (counted_elements(result.shape) != elements(typing.only()))
    return typing.fail(
        fmt::format("{} does not have the elements of {}", typing.shown_operand(0), to_string(result.shape)),
        "give it a shape of as many");
  if (is_cut(result) && result.layout.dim != kFlat) {
    result.layout.dim = reshaped_dim(typing.only(), result.shape, ranks_of(typing.workload, typing.only()));
    if (result.layout.dim < 0)
      return typing.fail(
          fmt::format("slices of {} are none along a dimension of {}", typing.shown_operand(0),
                      to_string(result.shape)),
          "keep the sides before the sliced one, and that one, or let the ranks divide it and what it "
          "becomes; or AllGather it");
  }
  if (is_cut(result) && result.shape.empty()) return typing.fail("a scalar has no slices", "AllGather it");
  result.layout = normal(result.layout, dimensions(result));
  return result;
}

// Along a dimension that is not cut: which elements a rank would keep depends on the rank otherwise.
OrError<TensorType> narrow_type(const Typing& typing) {
  TensorType result = typing.only();
  const Operation& operation = typing.operation;
  if (operation.dims.size() != 1 || operation.shape.size() != 2)
    return typing.fail("has no dimension, beginning and length");
  const int dim = operation.dims[0];
  if (auto error = require_dimension(typing, dim, result)) return *error;
  if (auto error = require_whole_along(typing, 0, dim)) return *error;
  const Extent &begin = operation.shape[0], &length = operation.shape[1];
  if (begin.value < 0 || length.value < 1 || begin.value > result.shape[dim].value - length.value)
    return typing.fail(fmt::format("{} elements from {} on are not in {}", to_string(length),
                                   to_string(begin), to_string(result.shape[dim])),
                       "begin before, or take fewer");
  result.shape[dim] = length;
  return result;
}

// The side of the result is the sum: 2*H and H of the same sizes give 3*H; of different ones, N and M,
// there is no product that is N + M, so it is a plain number.
OrError<TensorType> concat_type(const Typing& typing) {
  if (typing.operands.empty() || typing.operation.dims.size() != 1)
    return typing.fail("concatenates nothing");
  const int dim = typing.operation.dims[0];
  const TensorType& first = typing.only();
  if (auto error = require_dimension(typing, dim, first)) return *error;
  const OrError<TensorType> scope = scoped(typing);
  if (!scope) return scope;
  TensorType result = *scope;
  result.shape = first.shape;
  result.layout = first.layout;
  for (std::size_t k = 0; k < typing.operands.size(); ++k) {
    if (auto error = require_whole_along(typing, k, dim)) return *error;
    if (k == 0) continue;
    const TensorType& type = *typing.operands[k];
    TensorShape sides = type.shape;
    if (type.shape.size() == first.shape.size()) sides[dim] = first.shape[dim];
    if (type.element != first.element || !same_sides(sides, first.shape) || type.layout != first.layout)
      return typing.fail(fmt::format("{} and {} differ in more than the length of dimension {}",
                                     typing.shown_operand(0), typing.shown_operand(k), dim),
                         "element type, layout and the other sides have to be the same");
    Extent& side = result.shape[dim];
    if (side.sizes == type.shape[dim].sizes && side.divisor == 1 && type.shape[dim].divisor == 1)
      side.factor += type.shape[dim].factor;
    else
      side = {.factor = side.value + type.shape[dim].value};
    side.value += type.shape[dim].value;
    if (side.sizes.empty()) side.value = side.factor;
  }
  return result;
}

// An embedding: rows [V, H] by numbers [B, S] give [B, S, H]. Indices that are sliced give slices of the
// result; a table that is cut along H gives its columns. A table cut along V gives nothing here: a rank
// has some rows only.
OrError<TensorType> gather_rows_type(const Typing& typing) {
  if (auto error = require_indices_of_rows(typing, 1)) return *error;
  const TensorType &rows = *typing.operands[0], &indices = *typing.operands[1];
  const OrError<TensorType> scope = scoped(typing);
  if (!scope) return scope;
  TensorType result = *scope;
  result.shape = indices.shape;
  result.shape.insert(result.shape.end(), rows.shape.begin() + 1, rows.shape.end());
  if (result.shape.size() > kMostDimensions)
    return typing.fail(fmt::format("has {} dimensions", result.shape.size()), "8 are the most");
  const bool by_index = rows.layout.kind == LayoutKind::Replicated && is_cut(indices) &&
                        (indices.layout.dim != kFlat || rows.shape.size() == 1);
  const bool by_side = is_cut(rows) && rows.layout.dim > 0 && indices.layout.kind == LayoutKind::Replicated;
  if (by_index)
    result.layout = indices.layout;
  else if (by_side)
    result.layout = {.kind = LayoutKind::Sliced, .dim = rows.layout.dim - 1 + dimensions(indices)};
  else if (!in_full(typing, result.layout))
    return fail_rows(
        typing,
        "Replicated and any; Local with Local or Replicated; Sliced, but not along rows, by Replicated");
  result.layout = normal(result.layout, dimensions(result));
  return result;
}

// The inverse, a sum by row: values [B, S, H] at numbers [B, S] into [V, H]. Cut along B both, each rank
// has summands of all rows, which an AllReduce or ReduceScatter adds up.
OrError<TensorType> scatter_rows_type(const Typing& typing) {
  if (auto error = require_indices_of_rows(typing, 1)) return *error;
  const TensorType &rows = *typing.operands[0], &indices = *typing.operands[1];
  const std::size_t of_rows = indices.shape.size();
  if (typing.operation.shape.size() != 1) return typing.fail("has no number of rows");
  if (rows.shape.size() < of_rows ||
      !same_sides(TensorShape(rows.shape.begin(), rows.shape.begin() + static_cast<std::ptrdiff_t>(of_rows)),
                  indices.shape))
    return typing.fail(
        fmt::format("{} has not a row for each of {}", typing.shown_operand(0), typing.shown_operand(1)),
        "the first sides of the one are those of the other");
  const OrError<TensorType> scope = scoped(typing);
  if (!scope) return scope;
  TensorType result = *scope;
  result.shape = typing.operation.shape;
  result.shape.insert(result.shape.end(), rows.shape.begin() + static_cast<std::ptrdiff_t>(of_rows),
                      rows.shape.end());
  const int first_side = static_cast<int>(of_rows);
  if (is_cut(rows) && rows.layout.dim != kFlat && rows.layout == indices.layout)
    result.layout = {.kind = LayoutKind::Local};
  else if (is_cut(rows) && rows.layout.dim >= first_side && indices.layout.kind == LayoutKind::Replicated)
    result.layout = {.kind = LayoutKind::Sliced, .dim = rows.layout.dim - first_side + 1};
  else if (!in_full(typing, result.layout))
    return fail_rows(
        typing,
        "Replicated or Local with such; Sliced along rows with indices that are sliced so, which gives "
        "Local summands; Sliced, but not along rows, by Replicated");
  return result;
}

// Rows [M, .., H] at the numbers [M, ..] of a tensor [N, H], which keeps the others.
OrError<TensorType> put_rows_type(const Typing& typing) {
  const TensorType &of = *typing.operands[0], &rows = *typing.operands[1], &numbers = *typing.operands[2];
  if (auto error = require_indices_of_rows(typing, 2)) return *error;
  TensorShape fits = numbers.shape;
  fits.insert(fits.end(), of.shape.begin() + 1, of.shape.end());
  if (of.element != rows.element || !same_sides(fits, rows.shape))
    return typing.fail(
        fmt::format("{} has not a row of {} for each of {}", typing.shown_operand(1), typing.shown_operand(0),
                    typing.shown_operand(2)),
        "its sides are those of the numbers, and then of a row; its elements those of the tensor");
  OrError<TensorType> result = scoped(typing);
  if (!result) return result;
  result->shape = of.shape;
  TensorLayout along = of.layout;
  if (is_cut(of)) along.dim += dimensions(numbers) - 1;
  const bool by_side = is_cut(of) && of.layout.dim > 0 && rows.layout == along &&
                       numbers.layout.kind == LayoutKind::Replicated;
  result->layout = of.layout;
  if (!by_side && !in_full(typing, result->layout))
    return fail_rows(typing,
                     "Replicated or Local with such; Sliced, but not along rows, with rows that are, "
                     "at Replicated numbers");
  return result;
}

}  // namespace chorale
