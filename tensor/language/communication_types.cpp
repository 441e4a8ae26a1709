// Operations that move or combine what ranks have: each takes one layout, and leaves one. Those that are
// collectives of one operand are rows of a table; of the others, AllToAll and AllToAllV leave Local what they
// take Local, and Send moves groups on.
#include <fmt/format.h>

#include <algorithm>

#include "ir/words.h"
#include "tensor/language/infer.h"
#include "tensor/language/typing.h"

namespace chorale {
namespace {

// Of a tensor of the world, what each group makes of it; of one of all groups, what they have together.
OrError<TensorType> among(const Typing& typing, TensorType result) {
  const TensorType& of = typing.only();
  const int last = typing.workload.groups - 1;
  if (typing.operation.over == Scope::Group) {
    if (of.scope != Scope::World)
      return typing.fail_not_taken("a tensor of the world for GROUP", "leave GROUP out: it is of groups");
    result.scope = Scope::Group;
    result.first_group = 0, result.last_group = last;
    result.each = of.layout.kind == LayoutKind::Replicated;
  }
  if (typing.operation.over == Scope::Across) {
    if (of.scope != Scope::Group || of.each || of.first_group != 0 || of.last_group != last)
      return typing.fail_not_taken("a tensor of all groups for ACROSS, of which each has its own",
                                   "ReduceScatter it with GROUP first");
    result.each = true;
  }
  return result;
}

// In the operand's scope, or in each group's of a tensor of the world.
OrError<TensorType> laid_out_as(const Typing& typing, const TensorLayout& layout) {
  if (typing.operation.over == Scope::Across) return typing.fail("is not done across groups", "AllReduce is");
  OrError<TensorType> scope = among(typing, typing.only());
  if (!scope) return scope;
  TensorType result = *scope;
  const int ranks = ranks_of(typing.workload, result);
  if (const std::string what = layout_flaw(layout, dimensions(result), ranks); !what.empty())
    return typing.fail(fmt::format("{}: {}", typing.shown_operand(0), what),
                       "choose a layout that the tensor can have");
  result.layout = normal(layout, dimensions(result));
  return result;
}

// What a collective takes and leaves. Remedies are by the operand's layout, in the order of LayoutKind.
struct Rule {
  OperationKind kind;
  bool reduces;
  LayoutKind takes;
  const char* taken;
  const char* remedies[4];  // Replicated, Sliced, Local, Rooted; nullptr: it is the one that is taken
  LayoutKind leaves;
};

// Words that several rows share.
constexpr const char* kSummands = "a Local tensor, of which each rank has its own";
constexpr const char* kAddedUpTooOften =
    "it would be added up as many times as there are ranks: take it as it is";
constexpr const char* kIsWhole = "each rank has all of it: take it as it is";
constexpr const char* kIsSliced = "AllGather puts slices together";

constexpr Rule kRules[] = {
    {OperationKind::Slice,
     false,
     LayoutKind::Replicated,
     "a Replicated tensor, of which each rank has all",
     {nullptr, "it is sliced already", "ReduceScatter adds up and slices", "Broadcast it first"},
     LayoutKind::Sliced},
    {OperationKind::AllReduce,
     true,
     LayoutKind::Local,
     kSummands,
     {kAddedUpTooOften, kIsSliced, nullptr, kAddedUpTooOften},
     LayoutKind::Replicated},
    {OperationKind::ReduceScatter,
     true,
     LayoutKind::Local,
     kSummands,
     {kAddedUpTooOften, kIsSliced, nullptr, kAddedUpTooOften},
     LayoutKind::Sliced},
    {OperationKind::AllGather,
     false,
     LayoutKind::Sliced,
     "a sliced tensor",
     {kIsWhole, nullptr, "AllReduce or ReduceScatter it", "Broadcast it"},
     LayoutKind::Replicated},
    {OperationKind::Reduce,
     true,
     LayoutKind::Local,
     kSummands,
     {kAddedUpTooOften, kIsSliced, nullptr, kAddedUpTooOften},
     LayoutKind::Rooted},
    {OperationKind::Broadcast,
     false,
     LayoutKind::Rooted,
     "a tensor that lies on one rank",
     {kIsWhole, "AllGather it", "Reduce it first", nullptr},
     LayoutKind::Replicated},
};

}  // namespace

// Scope, then what is taken, then what is left. An AllReduce across groups is apart: it keeps the layout, and
// changes only that all groups have the same.
OrError<TensorType> collective_type(const Typing& typing) {
  const Operation& operation = typing.operation;
  const Rule& rule = *std::ranges::find(kRules, operation.kind, &Rule::kind);
  if (rule.reduces)
    if (auto error = require_reduction(typing)) return *error;
  if (operation.kind == OperationKind::AllReduce && operation.over == Scope::Across)
    return among(typing, typing.only());
  if (typing.only().layout.kind != rule.takes)
    return typing.fail_not_taken(rule.taken, rule.remedies[static_cast<int>(typing.only().layout.kind)]);
  if (rule.leaves == LayoutKind::Replicated) return laid_out_as(typing, {});
  if (operation.layout.kind != rule.leaves)
    return typing.fail(
        fmt::format("{} does not leave a tensor {}", to_string(operation.kind), to_string(operation.layout)),
        rule.leaves == LayoutKind::Sliced ? "give it a dimension, or flat" : "give it a root");
  return laid_out_as(typing, operation.layout);
}

// Rank r of p gives the s-th of p parts of the first side to rank s. The type stays: parts are exchanged for
// parts.
OrError<TensorType> all_to_all_type(const Typing& typing) {
  const TensorType& type = typing.only();
  if (type.layout.kind != LayoutKind::Local)
    return typing.fail_not_taken("a Local tensor, with a part for each rank",
                                 "declare it Local; of others, every rank would be sent the same");
  const int ranks = ranks_of(typing.workload, type);
  if (type.shape.empty() || type.shape.front().value % ranks != 0)
    return typing.fail(fmt::format("{} has no part for each of the {} ranks", typing.shown_operand(0), ranks),
                       "make the first side a multiple of the number of ranks");
  return type;
}

// Rows come in the order of the ranks that they go to; counts [ranks] say how many go to each, or [ranks *
// e] for e experts a rank. How many arrive is known only when it runs: `rows` is the room for them.
OrError<TensorType> all_to_all_v_type(const Typing& typing) {
  const TensorType &rows = *typing.operands[0], &counts = *typing.operands[1];
  if (rows.layout.kind != LayoutKind::Local || rows.shape.empty())
    return typing.fail_not_taken("a Local tensor with rows for the ranks", "declare it Local, of rows");
  OrError<TensorType> scope = scoped(typing);
  if (!scope) return scope;
  TensorType result = *scope;
  const int ranks = ranks_of(typing.workload, result);
  const bool has_all =
      counts.layout.kind == LayoutKind::Local || counts.layout.kind == LayoutKind::Replicated;
  if (counts.element != ElementType::Int32 || dimensions(counts) != 1 || !has_all ||
      counts.shape[0].value % ranks != 0)
    return typing.fail(
        fmt::format("{} has not how many rows go to each of the {} ranks", typing.shown_operand(1), ranks),
        "give it an int32 vector, Local or Replicated, whose length is a multiple of the ranks");
  if (typing.operation.shape.size() != 1) return typing.fail("has no number of rows");
  result.shape = rows.shape;
  result.shape[0] = typing.operation.shape[0];
  result.layout = {.kind = LayoutKind::Local};
  return result;
}

// GROUP + 1 moves the groups that have the tensor: 0..2 become 1..3, cut at the last group there is. Around
// the ranks, each has another one's tensor of the same shape.
OrError<TensorType> send_type(const Typing& typing) {
  TensorType result = typing.only();
  const int shift = typing.operation.shift, last = typing.workload.groups - 1;
  if (shift != 1 && shift != -1)
    return typing.fail(fmt::format("sends {} groups further on", shift), "use GROUP + 1 or GROUP - 1");
  if (typing.operation.around && result.layout.kind != LayoutKind::Local)
    return typing.fail_not_taken("a Local tensor for RANK", "slices may differ in length: declare it Local");
  if (typing.operation.around) return result;
  if (result.scope != Scope::Group)
    return typing.fail_not_taken("a tensor of groups", "declare what it is made of with GROUP");
  // What would go beyond the last group, or before the first, is dropped.
  result.first_group = std::max(result.first_group + shift, 0);
  result.last_group = std::min(result.last_group + shift, last);
  if (result.first_group > result.last_group)
    return typing.fail(
        fmt::format("{} is sent to GROUP {} 1, and there is none", typing.shown_operand(0),
                    shift > 0 ? '+' : '-'),
        last == 0 ? "declare two groups" : "send in the other direction, or declare more groups");
  return result;
}

// Reductions that each rank does by itself, of all that it has, or along one dimension. Where the tensor is
// cut along what is reduced, ranks have summands, which a collective has to add up: the result is Local.

OrError<TensorType> reduce_tensor_type(const Typing& typing) {
  if (auto error = require_reduction(typing)) return *error;
  TensorType result = typing.only();
  result.shape = {};
  if (result.layout.kind == LayoutKind::Sliced) result.layout = {.kind = LayoutKind::Local};
  return result;
}

// The side stays, with length 1, so that the result broadcasts to what it was made of.
OrError<TensorType> reduce_along_type(const Typing& typing) {
  if (auto error = require_reduction(typing)) return *error;
  TensorType result = typing.only();
  const std::vector<int>& dims = typing.operation.dims;
  const int count = dimensions(result);
  if (dims.size() != 1 || dims[0] < 0 || dims[0] >= count)
    return typing.fail(
        fmt::format("{} is reduced along dimension {}, counted from 0, and has {}", typing.shown_operand(0),
                    dims.empty() ? -1 : dims[0], counted(count, "dimension")),
        "choose one that it has; ReduceTensor reduces all");
  if (result.layout.kind == LayoutKind::Sliced && result.layout.dim == kFlat)
    return typing.fail_not_taken("whole tensors, or slices along a dimension",
                                 "slice it along a dimension, or AllGather it");
  result.shape[dims[0]] = {};
  if (result.layout.kind == LayoutKind::Sliced && result.layout.dim == dims[0])
    result.layout = {.kind = LayoutKind::Local};
  return result;
}

}  // namespace chorale
