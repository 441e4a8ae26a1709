// Operations that move or combine what ranks have: each takes one layout, and leaves one.
#include <fmt/format.h>

#include <algorithm>

#include "ir/words.h"
#include "workload/infer.h"
#include "workload/typing.h"

namespace chorale {
namespace {

int dimensions_of(const TensorType& type) {
  return static_cast<int>(type.shape.size());
}

// Requires a layout that it does not take.
[[nodiscard]] InputError fail_not_taken(const Typing& typing, const std::string& takes,
                                        const std::string& remedy) {
  return typing.fail(fmt::format("{} takes {}, and not {}", to_string(typing.operation.kind), takes,
                                 typing.shown_operand(0)),
                     remedy);
}

MaybeError require_reduction(const Typing& typing) {
  const ReduceOp op = typing.operation.reduction;
  if (op != ReduceOp::Sum && op != ReduceOp::Min && op != ReduceOp::Max)
    return typing.fail(fmt::format("{} by '{}'", to_string(typing.operation.kind), to_string(op)),
                       "use \"+\", \"min\" or \"max\"");
  return {};
}

MaybeError require_summands(const Typing& typing) {
  if (auto error = require_reduction(typing)) return *error;
  if (typing.only().layout.kind == LayoutKind::Local) return {};
  const char* const remedy = typing.only().layout.kind == LayoutKind::Sliced
                                 ? "AllGather puts slices together"
                                 : "it would be added up as many times as there are ranks: take it as it is";
  return fail_not_taken(typing, "a Local tensor, of which each rank has its own", remedy);
}

// Of a tensor of the world, what each group makes of it; of one of all groups, what they have together.
OrError<TensorType> among(const Typing& typing, TensorType result) {
  const TensorType& of = typing.only();
  const int last = typing.workload.groups - 1;
  if (typing.operation.over == Scope::Group) {
    if (of.scope != Scope::World)
      return fail_not_taken(typing, "a tensor of the world for GROUP", "leave GROUP out: it is of groups");
    result.scope = Scope::Group;
    result.first_group = 0, result.last_group = last;
    result.each = of.layout.kind == LayoutKind::Replicated;
  }
  if (typing.operation.over == Scope::Across) {
    if (of.scope != Scope::Group || of.each || of.first_group != 0 || of.last_group != last)
      return fail_not_taken(typing, "a tensor of all groups for ACROSS, of which each has its own",
                            "ReduceScatter it with GROUP first");
    result.each = true;
  }
  return result;
}

OrError<TensorType> laid_out_as(const Typing& typing, const TensorLayout& layout) {
  if (typing.operation.over == Scope::Across) return typing.fail("is not done across groups", "AllReduce is");
  OrError<TensorType> scope = among(typing, typing.only());
  if (!scope) return scope;
  TensorType result = *scope;
  const int ranks = ranks_of(typing.workload, result);
  if (const std::string what = layout_flaw(layout, dimensions_of(result), ranks); !what.empty())
    return typing.fail(fmt::format("{}: {}", typing.shown_operand(0), what),
                       "choose a layout that the tensor can have");
  result.layout = normal(layout, dimensions_of(result));
  return result;
}

OrError<TensorType> laid_out_as(const Typing& typing, LayoutKind kind) {
  return laid_out_as(typing, TensorLayout{.kind = kind});
}

MaybeError require_layout_of(const Typing& typing, LayoutKind kind, const std::string& remedy) {
  if (typing.operation.layout.kind != kind)
    return typing.fail(fmt::format("{} does not leave a tensor {}", to_string(typing.operation.kind),
                                   to_string(typing.operation.layout)),
                       remedy);
  return {};
}

}  // namespace

OrError<TensorType> reduce_tensor_type(const Typing& typing) {
  if (auto error = require_reduction(typing)) return *error;
  TensorType result = typing.only();
  result.shape = {};
  if (result.layout.kind == LayoutKind::Sliced) result.layout = {.kind = LayoutKind::Local};
  return result;
}

OrError<TensorType> reduce_along_type(const Typing& typing) {
  if (auto error = require_reduction(typing)) return *error;
  TensorType result = typing.only();
  const std::vector<int>& dims = typing.operation.dims;
  const int dimensions = dimensions_of(result);
  if (dims.size() != 1 || dims[0] < 0 || dims[0] >= dimensions)
    return typing.fail(
        fmt::format("{} is reduced along dimension {}, counted from 0, and has {}", typing.shown_operand(0),
                    dims.empty() ? -1 : dims[0], counted(dimensions, "dimension")),
        "choose one that it has; ReduceTensor reduces all");
  if (result.layout.kind == LayoutKind::Sliced && result.layout.dim == kFlat)
    return fail_not_taken(typing, "whole tensors, or slices along a dimension",
                          "slice it along a dimension, or AllGather it");
  result.shape[dims[0]] = {};
  if (result.layout.kind == LayoutKind::Sliced && result.layout.dim == dims[0])
    result.layout = {.kind = LayoutKind::Local};
  return result;
}

OrError<TensorType> slice_type(const Typing& typing) {
  if (auto error = require_layout_of(typing, LayoutKind::Sliced, "give it a dimension, or flat"))
    return *error;
  if (typing.only().layout.kind != LayoutKind::Replicated)
    return fail_not_taken(typing, "a Replicated tensor, of which each rank has all",
                          typing.only().layout.kind == LayoutKind::Local ? "ReduceScatter adds up and slices"
                          : typing.only().layout.kind == LayoutKind::Sliced ? "it is sliced already"
                                                                            : "Broadcast it first");
  return laid_out_as(typing, typing.operation.layout);
}

OrError<TensorType> all_reduce_type(const Typing& typing) {
  if (typing.operation.over == Scope::Across) {
    if (auto error = require_reduction(typing)) return *error;
    return among(typing, typing.only());
  }
  if (auto error = require_summands(typing)) return *error;
  return laid_out_as(typing, LayoutKind::Replicated);
}

OrError<TensorType> reduce_scatter_type(const Typing& typing) {
  if (auto error = require_summands(typing)) return *error;
  if (auto error = require_layout_of(typing, LayoutKind::Sliced, "give it a dimension, or flat"))
    return *error;
  return laid_out_as(typing, typing.operation.layout);
}

OrError<TensorType> all_gather_type(const Typing& typing) {
  if (typing.only().layout.kind != LayoutKind::Sliced)
    return fail_not_taken(
        typing, "a sliced tensor",
        typing.only().layout.kind == LayoutKind::Replicated ? "each rank has all of it: take it as it is"
        : typing.only().layout.kind == LayoutKind::Rooted   ? "Broadcast it"
                                                            : "AllReduce or ReduceScatter it");
  return laid_out_as(typing, LayoutKind::Replicated);
}

OrError<TensorType> reduce_type(const Typing& typing) {
  if (auto error = require_summands(typing)) return *error;
  if (auto error = require_layout_of(typing, LayoutKind::Rooted, "give it a root")) return *error;
  return laid_out_as(typing, typing.operation.layout);
}

OrError<TensorType> broadcast_type(const Typing& typing) {
  if (typing.only().layout.kind != LayoutKind::Rooted)
    return fail_not_taken(typing, "a tensor that lies on one rank",
                          typing.only().layout.kind == LayoutKind::Replicated
                              ? "each rank has all of it: take it as it is"
                          : typing.only().layout.kind == LayoutKind::Sliced ? "AllGather it"
                                                                            : "Reduce it first");
  return laid_out_as(typing, LayoutKind::Replicated);
}

OrError<TensorType> all_to_all_type(const Typing& typing) {
  const TensorType& type = typing.only();
  if (type.layout.kind != LayoutKind::Local)
    return fail_not_taken(typing, "a Local tensor, with a part for each rank",
                          "declare it Local; of others, every rank would be sent the same");
  const int ranks = ranks_of(typing.workload, type);
  if (type.shape.empty() || type.shape.front().value % ranks != 0)
    return typing.fail(fmt::format("{} has no part for each of the {} ranks", typing.shown_operand(0), ranks),
                       "make the first side a multiple of the number of ranks");
  return type;
}

OrError<TensorType> all_to_all_v_type(const Typing& typing) {
  const TensorType &rows = *typing.operands[0], &counts = *typing.operands[1];
  if (rows.layout.kind != LayoutKind::Local || rows.shape.empty())
    return fail_not_taken(typing, "a Local tensor with rows for the ranks", "declare it Local, of rows");
  OrError<TensorType> scope = scoped(typing);
  if (!scope) return scope;
  TensorType result = *scope;
  const int ranks = ranks_of(typing.workload, result);
  const bool has_all =
      counts.layout.kind == LayoutKind::Local || counts.layout.kind == LayoutKind::Replicated;
  if (counts.element != ElementType::Int32 || dimensions_of(counts) != 1 || !has_all ||
      counts.shape[0].value % ranks != 0)
    return typing.fail(
        fmt::format("{} has not how many rows go to each of the {} ranks", typing.shown_operand(1), ranks),
        "give it an int32 vector, Local or Replicated, whose length is a multiple of the ranks");
  if (typing.operation.shape.size() != 1) return typing.fail("has no number of rows");
  result.element = rows.element;
  result.shape = rows.shape;
  result.shape[0] = typing.operation.shape[0];
  result.layout = {.kind = LayoutKind::Local};
  return result;
}

OrError<TensorType> send_type(const Typing& typing) {
  TensorType result = typing.only();
  const int shift = typing.operation.shift, last = typing.workload.groups - 1;
  if (shift != 1 && shift != -1)
    return typing.fail(fmt::format("sends {} groups further on", shift), "use GROUP + 1 or GROUP - 1");
  if (result.scope != Scope::Group)
    return fail_not_taken(typing, "a tensor of groups", "declare what it is made of with GROUP");
  result.first_group = std::max(result.first_group + shift, 0);
  result.last_group = std::min(result.last_group + shift, last);
  if (result.first_group > result.last_group)
    return typing.fail(
        fmt::format("{} is sent to GROUP {} 1, and there is none", typing.shown_operand(0),
                    shift > 0 ? '+' : '-'),
        last == 0 ? "declare two groups" : "send in the other direction, or declare more groups");
  return result;
}

}  // namespace chorale
