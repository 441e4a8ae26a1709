// Kernels are runs of consecutive operations with one name. A kernel becomes one stage where its operations
// have one iteration space, or are a sum over ranks and a loop over its result, or go row by row; if it does
// not fit, it becomes several, in an order that its dependencies allow. Then it is known which results
// outlive their stage, and so need memory.
#include "tensor/lowering/stages.h"

#include <algorithm>

namespace chorale {
namespace {

using Kind = OperationKind;

bool is_elementwise(const Operation& op) {
  return op.kind == Kind::Pointwise || op.kind == Kind::ReduceTensor;
}
// Slices along the first dimension lie together in the memory of the tensor.
bool has_layout_first(const TensorLayout& layout) {
  return layout.kind != LayoutKind::Sliced || layout.dim <= 0;
}

}  // namespace

// Replicated and local tensors are there as a whole, so one loop goes over both.
bool same_space(const TensorType& a, const TensorType& b) {
  const auto has_all = [](const TensorType& type) {
    return type.layout.kind == LayoutKind::Replicated || type.layout.kind == LayoutKind::Local;
  };
  return a.shape == b.shape && (a.layout == b.layout || (has_all(a) && has_all(b))) && a.scope == b.scope &&
         a.first_group == b.first_group && a.last_group == b.last_group;
}

// A reduction iterates over its operand, all else over its result.
const TensorType& space_of(const Workload& workload, const Operation& op) {
  return is_reduction(op.kind) ? operation(workload, op.operands[0]).type : op.type;
}

namespace {

// What the reductions of Rows are of.
const TensorType& rows_of(const Workload& workload, const std::vector<int>& rows) {
  const auto reduction =
      std::ranges::find_if(rows, [&](int i) { return workload.operations[i].kind == Kind::ReduceAlong; });
  return space_of(workload, workload.operations[*reduction]);
}
// Sides that are 1 by the sizes' defaults only are not 1.
bool is_one(const Extent& extent) {
  return extent.value == 1 && extent.sizes.empty();
}

}  // namespace

bool is_value_of_row(const Workload& workload, int operation, const std::vector<int>& rows) {
  const TensorShape& shape = workload.operations[operation].type.shape;
  return is_one(shape.back()) && !is_one(rows_of(workload, rows).shape.back());
}

// Three passes: stages; which slices are views; which results are stored. A result is stored if anything
// outside of its stage reads it, also by a view; and what a stage cannot keep in registers always is: results
// of calls, reductions, updates, outputs.
Stages::Stages(const Workload& workload) : workload_(workload) {
  const std::vector<Operation>& all = workload.operations;
  for (std::size_t i = 0; i < all.size();) {
    std::vector<int> run = {static_cast<int>(i)};
    if (!all[i].kernel.empty())
      while (run.back() + 1 < static_cast<int>(all.size()) && all[run.back() + 1].kernel == all[i].kernel)
        run.push_back(run.back() + 1);
    i += run.size();
    if (all[run[0]].kernel.empty())
      add_one(run[0]);
    else
      add_kernel(run);
  }
  for (const Operation& op : all) stage_of_[op.name] = -1;
  for (int s = 0; s < static_cast<int>(stages_.size()); ++s) {
    if (stages_[s].operation >= 0) stage_of_[all[stages_[s].operation].name] = s;
    for (const int i : stages_[s].loop) stage_of_[all[i].name] = s;
    for (const int i : stages_[s].scalars) stage_of_[all[i].name] = s;
  }
  // Slices first: what reads one that is a view reads what is behind it.
  for (int i = 0; i < static_cast<int>(all.size()); ++i)
    if (all[i].kind == Kind::Slice)
      stored_[all[i].name] = !may_be_view(i);
    else if (all[i].kind == Kind::Reshape)
      stored_[all[i].name] = !may_be_other_shape(i);
  for (const Operation& op : all) {
    if (op.kind == Kind::Slice || op.kind == Kind::Reshape) continue;
    const int stage = stage_of_[op.name];
    bool stored =
        is_given(op.kind) || !op.updates.empty() || std::ranges::count(workload.outputs, op.name) > 0;
    // A call, and a communication by itself, has its result in memory.
    if (stage >= 0 && is_communication(op.kind) && !stages_[stage].scalars.empty()) stored = true;
    if (stage >= 0 && stages_[stage].operation >= 0 &&
        workload.operations[stages_[stage].operation].name == op.name)
      stored = stored || stages_[stage].loop.empty();
    for (const int reader : readers(op.name)) {
      const Operation& by = all[reader];
      if (by.kind == Kind::Slice && !stored_[by.name]) {
        for (const int other : readers(by.name)) stored = stored || stage_of_[all[other].name] != stage;
      } else {
        stored = stored || stage_of_[by.name] != stage;
      }
    }
    if (is_reduction(op.kind)) stored = true;
    if (stage >= 0 && stages_[stage].goes_by_rows &&
        is_value_of_row(workload, place_of(op.name), stages_[stage].loop))
      stored = true;
    stored_[op.name] = stored;
  }
}

// Through any number of slices that are views.
std::string Stages::behind(const std::string& name) const {
  const Operation& op = operation(workload_, name);
  return op.kind == Kind::Slice && !stored_.at(name) ? behind(op.operands[0]) : name;
}

// In program order; a workload is small, so it is searched for.
int Stages::place_of(const std::string& name) const {
  return static_cast<int>(std::ranges::find(workload_.operations, name, &Operation::name) -
                          workload_.operations.begin());
}

std::vector<int> Stages::readers(const std::string& name) const {
  std::vector<int> result;
  for (int i = 0; i < static_cast<int>(workload_.operations.size()); ++i)
    if (std::ranges::count(workload_.operations[i].operands, name) > 0) result.push_back(i);
  return result;
}

// Directly or by other operations.
bool Stages::depends(int operation, const std::vector<int>& on) const {
  for (const std::string& name : workload_.operations[operation].operands) {
    const int made = place_of(name);
    if (std::ranges::count(on, made) > 0 || depends(made, on)) return true;
  }
  return false;
}

// A slice is read in its tensor's own memory where only loops, which find each element there, and others that
// want what lies together, read it; unless the tensor has changed by then.
bool Stages::may_be_view(int slice) const {
  const Operation& op = workload_.operations[slice];
  if (std::ranges::count(workload_.outputs, op.name) > 0) return false;
  const Operation& of = operation(workload_, behind(op.operands[0]));
  if (!is_given(of.kind) && stage_of_.at(of.name) == stage_of_.at(op.name)) return false;
  // The tensor in whose memory it lies: operations that update that one overwrite it.
  const std::string& home = of.updates.empty() ? of.name : of.updates;
  for (const int reader : readers(op.name)) {
    const Operation& by = workload_.operations[reader];
    if (by.kind == Kind::Slice) return false;
    if (!is_elementwise(by) && !has_layout_first(op.type.layout)) return false;
    for (const Operation& writer : workload_.operations)
      if (writer.updates == home && writer.name != of.name &&
          stage_of_.at(writer.name) < stage_of_.at(by.name))
        return false;
  }
  return true;
}

// The same elements in the same order, so nothing is copied, unless something overwrites them.
bool Stages::may_be_other_shape(int reshape) const {
  const Operation& op = workload_.operations[reshape];
  const auto has_memory = [&](const Operation& of) { return of.kind != Kind::Slice || stored_.at(of.name); };
  const Operation* of = &operation(workload_, op.operands[0]);
  while (of->kind == Kind::Reshape && !stored_.at(of->name)) of = &operation(workload_, of->operands[0]);
  const std::string& home = of->updates.empty() ? of->name : of->updates;
  const auto overwrites = [&](const Operation& by) { return by.updates == home && &by != of; };
  const auto slices = [&](int reader) { return workload_.operations[reader].kind == Kind::Slice; };
  return has_memory(*of) && !of->type.shape.empty() && op.updates.empty() &&
         std::ranges::count(workload_.outputs, op.name) == 0 &&
         std::ranges::none_of(workload_.operations, overwrites) &&
         std::ranges::none_of(readers(op.name), slices);
}

// Joins the last stage if that is a loop of the same kernel and space, and makes no total that this operation
// reads.
void Stages::add_to_loop(int i, const std::string& kernel) {
  const Operation& op = workload_.operations[i];
  if (!kernel.empty() && !stages_.empty() && stages_.back().kind == StageKind::Loop &&
      stages_.back().kernel == kernel &&
      same_space(space_of(workload_, workload_.operations[stages_.back().loop[0]]),
                 space_of(workload_, op)) &&
      // What it has made itself is complete only after its loop.
      std::ranges::none_of(stages_.back().loop, [&](int other) {
        return workload_.operations[other].kind == Kind::ReduceTensor &&
               std::ranges::count(op.operands, workload_.operations[other].name) > 0;
      })) {
    stages_.back().loop.push_back(i);
    return;
  }
  stages_.push_back({.kind = StageKind::Loop, .loop = {i}, .kernel = kernel, .overlap = op.overlap});
}

// By itself: inputs are no work, elementwise operations join a loop, all else is a stage.
void Stages::add_one(int i) {
  const Operation& op = workload_.operations[i];
  if (is_given(op.kind)) return;
  if (is_elementwise(op)) return add_to_loop(i, op.kernel);
  stages_.push_back({.kind = op.kind == Kind::Slice      ? StageKind::Slice
                             : is_communication(op.kind) ? StageKind::Communication
                                                         : StageKind::Call,
                     .operation = i,
                     .kernel = op.kernel,
                     .overlap = op.overlap});
}

// Sums of scalars cost a message's latency each: as one message they cost one.
void Stages::add_scalars(const std::vector<int>& operations) {
  const Operation& first = workload_.operations[operations[0]];
  stages_.push_back({.kind = StageKind::Communication,
                     .operation = operations[0],
                     .scalars = operations,
                     .kernel = first.kernel,
                     .overlap = first.overlap});
}

// The largest tensor's operations are to be one loop, so smaller ones that it does not need to wait for come
// before.
void Stages::add_kernel(const std::vector<int>& operations) {
  if (workload_.operations[operations[0]].kind == Kind::AllReduce) return add_scalars(operations);
  if (std::ranges::any_of(operations,
                          [&](int i) { return workload_.operations[i].kind == Kind::ReduceAlong; }))
    return add_rows(operations);
  if (add_fused(operations)) return;
  // What is smaller than the largest tensor, and broadcast to it, is done before, so that it cuts no loop.
  const auto space = [&](int i) -> const TensorType& { return space_of(workload_, workload_.operations[i]); };
  int largest = operations[0];
  for (const int i : operations)
    if (elements(space(i)) > elements(space(largest))) largest = i;
  std::vector<int> main, ordered;
  for (const int i : operations) {
    const bool before = !same_space(space(i), space(largest)) &&
                        !is_communication(workload_.operations[i].kind) && !depends(i, main) &&
                        workload_.operations[i].updates.empty();
    (before ? ordered : main).push_back(i);
  }
  ordered.insert(ordered.end(), main.begin(), main.end());
  for (const int i : ordered) add_one(i);
}

// What is smaller than rows and depends on none of them is done before, and what sends their results after
// them. A sum that they alone read hands them each row when it is complete.
void Stages::add_rows(const std::vector<int>& operations) {
  const TensorType& rows = chorale::rows_of(workload_, operations);
  const auto is_in_rows = [&](const Operation& op) {
    const TensorShape& shape = space_of(workload_, op).shape;
    if (shape.size() != rows.shape.size() || op.type.layout != rows.layout) return false;
    for (std::size_t d = 0; d + 1 < shape.size(); ++d)
      if (shape[d].value != rows.shape[d].value) return false;
    return is_one(shape.back()) || shape.back().value == rows.shape.back().value;
  };
  std::vector<int> sums, after, main;
  for (const int i : operations) {
    const Operation& op = workload_.operations[i];
    if (op.kind == Kind::ReduceScatter || op.kind == Kind::Reduce)
      sums.push_back(i);
    else if (is_communication(op.kind))
      after.push_back(i);
    else if (!is_in_rows(op) && !depends(i, main))
      add_one(i);
    else
      main.push_back(i);
  }
  const bool handed = !sums.empty() && is_for(sums[0], main);
  if (!sums.empty() && !handed) add_one(sums[0]);
  const Operation& first = workload_.operations[main[0]];
  stages_.push_back({.kind = handed ? StageKind::Communication : StageKind::Rows,
                     .operation = handed ? sums[0] : -1,
                     .loop = main,
                     .kernel = first.kernel,
                     .overlap = first.overlap,
                     .goes_by_rows = true});
  for (const int i : after) add_one(i);
}

// Nothing else reads the sum, so a row of it may be dropped once it is used.
bool Stages::is_for(int sum, const std::vector<int>& rows) const {
  const std::string& name = workload_.operations[sum].name;
  const std::vector<int> by = readers(name);
  return std::ranges::count(workload_.outputs, name) == 0 && !by.empty() &&
         std::ranges::all_of(by, [&](int reader) { return std::ranges::count(rows, reader) > 0; });
}

// A sum for one rank, and what follows it there. What is of other sizes and does not need the sum is done
// before. Nothing is fused (false, and nothing added) where an operation needs the sum but does not fit its
// loop, or a total of the loop before its end.
bool Stages::add_fused(const std::vector<int>& operations) {
  const auto sum = std::ranges::find_if(operations, [&](int i) {
    const Kind kind = workload_.operations[i].kind;
    return kind == Kind::ReduceScatter || kind == Kind::Reduce;
  });
  if (sum == operations.end()) return false;
  const Operation& op = workload_.operations[*sum];
  std::vector<int> before, loop, after;
  std::vector<int> made = {*sum};
  for (const int i : operations) {
    const Operation& each = workload_.operations[i];
    if (i == *sum) continue;
    if (is_elementwise(each) && same_space(space_of(workload_, each), op.type) && after.empty()) {
      // A total is complete only after the loop.
      for (const int other : loop)
        if (workload_.operations[other].kind == Kind::ReduceTensor && depends(i, {other})) return false;
      loop.push_back(i);
      made.push_back(i);
    } else if (is_communication(each.kind)) {
      after.push_back(i);
    } else if (!depends(i, made) && (each.updates.empty() || loop.empty())) {
      before.push_back(i);
    } else {
      return false;
    }
  }
  for (const int i : before) add_one(i);
  stages_.push_back({.kind = StageKind::Communication,
                     .operation = *sum,
                     .loop = loop,
                     .kernel = op.kernel,
                     .overlap = op.overlap});
  for (const int i : after) add_one(i);
  return true;
}

// The operand is then written at once where the gathered tensor is, so nothing has to be copied there.
std::string Stages::made_in_place(const std::string& name) const {
  const Operation& op = operation(workload_, name);
  const int stage = stage_of_.at(name);
  if ((op.kind != Kind::AllGather && op.kind != Kind::Broadcast) || stage == 0 || op.kernel.empty())
    return "";
  const Operation& from = operation(workload_, op.operands[0]);
  const bool alone = readers(from.name).size() == 1 && from.updates.empty() &&
                     std::ranges::count(workload_.outputs, from.name) == 0;
  const Stage& before = stages_[stage - 1];
  // Later passes over a row read an input that the first one would overwrite.
  if (before.goes_by_rows && !op.updates.empty()) return "";
  if (!alone || from.kind != Kind::Pointwise || stage_of_.at(from.name) != stage - 1 ||
      before.kernel != op.kernel)
    return "";
  return from.name;
}

}  // namespace chorale
