// Sums over ranks as a lowered program makes them: a number in each slot, step by step, from the definition
// of programs. With these the interpreter of workloads states the very bits of what is emitted, whatever the
// inputs.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "ir/step_rows.h"
#include "tensor/lowering/workload_source.h"
#include "tests/tensor/interpreter.h"

namespace chorale::test {

class RankSums {
 public:
  RankSums(const Workload& workload, const std::vector<WorkloadAlgorithm>& algorithms) : workload_(workload) {
    for (const WorkloadAlgorithm& algorithm : algorithms) algorithm_[algorithm.operation] = &algorithm;
  }

  double operator()(const Operation& op, int rank, std::int64_t element,
                    std::span<const double> summands) const {
    const Message message = message_of(op, rank, element);
    const WorkloadAlgorithm& algorithm = *algorithm_.at(message.name);
    const int pieces = algorithm.program.collective().chunks_per_block;
    int piece = 0;
    for (std::int64_t end = 0; piece < pieces; ++piece)
      if ((end += message.length / pieces + (piece < message.length % pieces ? 1 : 0)) > message.place) break;
    const TensorType& among = op.over == Scope::Group ? op.type : operation(workload_, op.operands[0]).type;
    const int local =
        op.over == Scope::Across ? rank / workload_.ranks : rank - first_peer(workload_, among, rank);
    const auto slots = done<double>(
        algorithm, [&](Rank n) { return summands[n]; },
        [&](double a, double b) {
          return rounded(op.type.element, folded(op.type.element, op.reduction, a, b));
        });
    for (const ChunkSpec& chunk : algorithm.program.collective().chunks)
      if (ends_at(chunk, local) && chunk.input == message.block * pieces + piece)
        return slots.at({local, 1, chunk.output});
    throw std::logic_error("no chunk of " + op.name);
  }

  // Do all ranks that receive a chunk have a sum that was made by the same additions, whichever operand came
  // first?
  bool are_the_same_on_all_ranks() const {
    for (const auto& [name, algorithm] : algorithm_) {
      if (!adds(algorithm->program.collective())) continue;
      const auto slots = done<std::string>(
          *algorithm, [](Rank n) { return std::to_string(n); },
          [](const std::string& a, const std::string& b) {
            return "(" + std::min(a, b) + " + " + std::max(a, b) + ")";
          });
      for (const ChunkSpec& chunk : algorithm->program.collective().chunks)
        for (const Rank n : chunk.post)
          if (slots.at({n, 1, chunk.output}) != slots.at({*chunk.post.begin(), 1, chunk.output}))
            return false;
    }
    return true;
  }

 private:
  template <typename T>
  using Slots = std::map<std::tuple<int, int, int>, T>;  // rank, buffer, slot
  // Where an element is: in the message of an operation, a block of it, of this many elements.
  struct Message {
    std::string name = {};
    int block = 0;
    std::int64_t place = 0, length = 0;
  };

  Message message_of(const Operation& op, int rank, std::int64_t element) const {
    if (op.kind == OperationKind::ReduceScatter) {
      const int first = first_peer(workload_, op.type, rank);
      for (int n = 0; n < ranks_of(workload_, op.type); ++n) {
        const Holding slice = held(workload_, op.type, first + n);
        if (const std::int64_t place = slice.place(element); place >= 0)
          return {op.name, n, place, size(op.type, slice)};
      }
      throw std::logic_error("an element of no slice");
    }
    const Holding here = held(workload_, op.type, rank);
    if (op.over == Scope::Across && op.kernel.empty())
      return {op.name, 0, here.place(element), size(op.type, here)};
    // Scalars of one kernel go together.
    Message message{op.name, 0, element, elements(op.type)};
    if (op.kind != OperationKind::AllReduce || op.kernel.empty()) return message;
    message = {};
    for (const Operation& other : workload_.operations) {
      if (other.kernel != op.kernel) continue;
      if (message.name.empty()) message.name = other.name;
      if (other.name == op.name) message.place = message.length;
      ++message.length;
    }
    return message;
  }

  template <typename T, typename First, typename Add>
  static Slots<T> done(const WorkloadAlgorithm& algorithm, const First& first, const Add& added) {
    const StepRows rows = step_rows(*algorithm.program);
    Slots<T> slots;
    for (const ChunkSpec& chunk : algorithm.program.collective().chunks)
      for (const Rank n : chunk.pre) slots[{n, 0, chunk.input}] = first(n);
    for (int s = 0; s < rows.steps; ++s) {
      const Slots<T> before = slots;
      for (const StepMessage& m : rows.messages)
        if (m.step == s)
          slots[{m.to, m.to_buffer, m.to_slot}] = before.at({m.from, m.from_buffer, m.from_slot});
      for (const StepWork& row : rows.work) {
        if (row.step != s) continue;
        const T from = slots.at({row.rank, row.from_buffer, row.from_slot});
        T& to = slots[{row.rank, row.to_buffer, row.to_slot}];
        to = row.add == 0 ? from : added(to, from);
      }
    }
    return slots;
  }

  const Workload& workload_;
  std::map<std::string, const WorkloadAlgorithm*> algorithm_ = {};
};

}  // namespace chorale::test
