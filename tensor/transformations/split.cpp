// An AllReduce in two parts, and back; one whose slices go on; one on two levels. The last part has the name
// of the sum, so no reader changes, and the new operations stand where the AllReduce stood. What may be done
// is decided by shape and scope alone: types of the result are checked by rewritten(). Of
// sum = AllReduce("+", g) they make
//   split(sum, rs)         rs = ReduceScatter("+", g, flat)          sum = AllGather(rs)
//   shard(sum, all, part)  all = AllReduce("+", g)                   part = Slice(all, flat)
//                          sum = AllGather(part)
//   levels(sum, rs, ar)    rs = ReduceScatter("+", g, flat, GROUP)   ar = AllReduce("+", rs, ACROSS)
//                          sum = AllGather(ar)
#include <fmt/format.h>

#include "ir/error.h"
#include "tensor/transformations/edit.h"
#include "tensor/transformations/transform.h"

namespace chorale {

OrError<Workload> split(const Workload& workload, const std::string& name, const std::string& first,
                        TensorLayout layout) {
  const std::string where = "split " + name;
  const OrError<const Operation*> named = operation_for(workload, name, where);
  if (!named) return named.error();
  const Operation& sum = **named;
  if (sum.kind != OperationKind::AllReduce)
    return InputError(where, fmt::format("it is {}, and only AllReduce can be split", to_string(sum.kind)));
  if (auto error = check_alone(sum, where)) return *error;
  if (auto error = check_new_name(workload, first, where)) return *error;
  const bool scatters = layout.kind == LayoutKind::Sliced;
  if (!scatters && layout.kind != LayoutKind::Rooted)
    return InputError(where, fmt::format("neither ReduceScatter nor Reduce leaves {}", to_string(layout)),
                      "use Sliced(flat), Sliced of a dimension, or Rooted of a rank");
  // Across groups there is AllReduce only, and a Reduce has no GROUP.
  if (sum.over == Scope::Across || (sum.over == Scope::Group && !scatters))
    return InputError(where, "it is of one level of two", "split what is not");
  if (scatters && sum.type.shape.empty())
    return InputError(where, "it is a scalar, which has no slices",
                      "Rooted(0) makes it Reduce and Broadcast");

  Workload result = workload;
  const auto at = result.operations.begin() + place(workload, name);
  const Operation part = {.kind = scatters ? OperationKind::ReduceScatter : OperationKind::Reduce,
                          .name = first,
                          .operands = sum.operands,
                          .reduction = sum.reduction,
                          .layout = layout,
                          .over = sum.over};
  *at = {.kind = scatters ? OperationKind::AllGather : OperationKind::Broadcast,
         .name = name,
         .operands = {first},
         .updates = sum.updates};
  result.operations.insert(at, part);
  return rewritten(workload, std::move(result), where);
}

// Only if nothing else needs the first part: it is gone afterwards.
OrError<Workload> join(const Workload& workload, const std::string& gather) {
  const std::string where = "join " + gather;
  const OrError<const Operation*> named = operation_for(workload, gather, where);
  if (!named) return named.error();
  const Operation& second = **named;
  const bool gathers = second.kind == OperationKind::AllGather;
  if (!gathers && second.kind != OperationKind::Broadcast)
    return InputError(where, fmt::format("it is {}, and only AllGather and Broadcast end what was split",
                                         to_string(second.kind)));
  const Operation& first = operation(workload, second.operands[0]);
  const OperationKind kind = gathers ? OperationKind::ReduceScatter : OperationKind::Reduce;
  if (first.kind != kind)
    return InputError(where, fmt::format("what it reads, {}, is {}, not {}", first.name,
                                         to_string(first.kind), to_string(kind)));
  if (auto error = check_alone(first, where)) return *error;
  if (auto error = check_alone(second, where)) return *error;
  for (const std::string& reader : readers(workload, first.name))
    if (reader != gather) return InputError(where, fmt::format("{} reads {}, too", reader, first.name));
  if (is_output(workload, first.name)) return InputError(where, fmt::format("{} is an output", first.name));

  Workload result = workload;
  result.operations[place(workload, gather)] = {.kind = OperationKind::AllReduce,
                                                .name = gather,
                                                .operands = first.operands,
                                                .reduction = first.reduction,
                                                .over = first.over,
                                                .updates = second.updates};
  result.operations.erase(result.operations.begin() + place(workload, first.name));
  return rewritten(workload, std::move(result), where);
}

namespace {

// The AllReduce, if it can be made of several operations with these names.
// shard() and levels() put two new operations before the one that keeps the name.
OrError<const Operation*> sum_for(const Workload& workload, const std::string& name, const std::string& first,
                                  const std::string& second, const std::string& where,
                                  const std::string& done) {
  const OrError<const Operation*> named = operation_for(workload, name, where);
  if (!named) return named;
  const Operation& sum = **named;
  if (sum.kind != OperationKind::AllReduce)
    return InputError(where,
                      fmt::format("it is {}, and only AllReduce can be {}", to_string(sum.kind), done));
  if (auto error = check_alone(sum, where)) return *error;
  for (const std::string& part : {first, second})
    if (auto error = check_new_name(workload, part, where)) return *error;
  if (first == second) return InputError(where, fmt::format("{} is the name of two things", first));
  if (sum.type.shape.empty()) return InputError(where, "it is a scalar, which has no slices");
  return named;
}

}  // namespace

// The AllReduce is not made cheaper by this. What reads the sum can be moved in front of the AllGather, and
// then works on slices; a Send between groups sends 1/r of the tensor.
OrError<Workload> shard(const Workload& workload, const std::string& name, const std::string& first,
                        const std::string& slice, TensorLayout layout) {
  const std::string where = "shard " + name;
  const OrError<const Operation*> named = sum_for(workload, name, first, slice, where, "sharded");
  if (!named) return named.error();
  const Operation& sum = **named;

  Workload result = workload;
  const auto at = result.operations.begin() + place(workload, name);
  Operation whole = sum;
  whole.name = first;
  whole.updates = {};
  *at = {.kind = OperationKind::AllGather, .name = name, .operands = {slice}, .updates = sum.updates};
  result.operations.insert(
      at, {whole, {.kind = OperationKind::Slice, .name = slice, .operands = {first}, .layout = layout}});
  return rewritten(workload, std::move(result), where);
}

// Of r ranks in each of g groups: the first moves (r-1)/r of the tensor inside of groups, and the second sums
// only 1/r of it between groups, where links are slow (hierarchical AllReduce, as in BlueConnect, Cho et al.
// 2019).
OrError<Workload> levels(const Workload& workload, const std::string& name, const std::string& first,
                         const std::string& second, TensorLayout layout) {
  const std::string where = "levels " + name;
  const OrError<const Operation*> named = sum_for(workload, name, first, second, where, "done on two levels");
  if (!named) return named.error();
  const Operation& sum = **named;
  if (sum.over != Scope::World || sum.type.scope != Scope::World || workload.groups == 1)
    return InputError(where, "it is not a sum over several groups", "give the program groups of ranks");

  Workload result = workload;
  const auto at = result.operations.begin() + place(workload, name);
  const Operation inner = {.kind = OperationKind::ReduceScatter,
                           .name = first,
                           .operands = sum.operands,
                           .reduction = sum.reduction,
                           .layout = layout,
                           .over = Scope::Group};
  const Operation outer = {.kind = OperationKind::AllReduce,
                           .name = second,
                           .operands = {first},
                           .reduction = sum.reduction,
                           .over = Scope::Across};
  *at = {.kind = OperationKind::AllGather, .name = name, .operands = {second}, .updates = sum.updates};
  result.operations.insert(at, {inner, outer});
  return rewritten(workload, std::move(result), where);
}

}  // namespace chorale
