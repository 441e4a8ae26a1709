// Where the values of a workload are at run time: which tensors have memory, its owner, and the position of
// each value in it. And the algorithms of its communications, as rows.
//
// A tensor has memory where its value outlives its loop: in an input that it updates, in the caller's, or in
// the class's own. What an AllGather or Broadcast of the same kernel begins with is put where that begins.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/or_error.h"
#include "ir/program.h"
#include "ir/step_rows.h"
#include "ir/verified.h"
#include "tensor/language/execution.h"
#include "tensor/language/workload.h"
#include "tensor/lowering/loop_contents.h"
#include "tensor/lowering/stages.h"

namespace chorale {

// A program as rows for blocks of any length (ir/step_table.h): the block of each message and each sum, what
// may be lent, the results that need not be stored, and where a function that follows sums is applied.
struct ExchangeRows {
  StepRows steps = {};
  // Whether no message is received into memory that the input and the output of a rank share (its own block
  // of an Allgather, the root's vector of a Broadcast).
  bool in_place = false;
};

// With `applies`, the rank that a sum is for (Reduce, ReduceScatter) has it once, where it is complete there
// for the first time: by the operation that completes it, or, where another rank completes it, as it is
// received. An error where the program is in place, its ranks may end with different bits, or its
// kind has no such rank.
OrError<ExchangeRows> exchange_rows(const std::string& where, const Verified<Program>&, bool applies);

// How a communication of the workload is done: a lowered program that performs the collective.
struct WorkloadAlgorithm {
  std::string operation = {};  // name, in the workload
  Verified<Program> program;
};

// The collective that a communication is, and the inverse; Send and AllToAllV have none. Requires an argument
// that has a counterpart.
CollectiveKind collective_of(OperationKind);
OperationKind operation_of(CollectiveKind);

// The collective that the algorithm of a communication has to perform, with one chunk per block: AllReduce
// allreduce, ReduceScatter reducescatter, AllGather allgather, Reduce reduce and Broadcast broadcast (with
// their root), AllToAll alltoall; among the ranks of its scope. Send and AllToAllV need none, and have no
// row.
struct NeededCollective {
  std::string operation = {};
  Collective collective = {};
  Scope scope = Scope::World;
};
std::vector<NeededCollective> needed_collectives(const Workload&);

class WorkloadPlaces : public LoopSurroundings {
 public:
  // Nothing but error() may be asked where an algorithm is missing or does something else.
  WorkloadPlaces(const Workload&, const std::vector<WorkloadAlgorithm>&, std::string name, Execution = {});

  // Why it cannot be printed: the first reason that was found, also by require_together() while printing.
  const MaybeError& error() const { return error_; }

  const Workload& workload() const { return workload_; }
  const std::string& name() const { return name_; }  // of the namespace
  const Execution& execution() const { return execution_; }
  const Stages& stages() const { return stages_; }
  // By operation, of those that are done by an algorithm.
  const std::map<std::string, ExchangeRows>& rows() const { return rows_; }
  const Program& program(const std::string& operation) const { return *algorithm_.at(operation)->program; }

  LoopPlace read_at(const std::string& name, const TensorType& space) const override;
  bool is_stored(const std::string& name) const override { return stages_.is_stored(name); }
  LoopPlace stored_at(const std::string& name) const override;
  std::string behind(const std::string& name) const override { return stages_.behind(name); }
  std::string sides(const TensorShape& shape) const override;
  std::string part(const std::string& name) const override;

  bool is_updated(const std::string& input) const;
  bool is_output(const std::string& name) const;
  // Given by value: scalars that stay as they are.
  bool by_value(const Operation&) const;
  // The caller's memory: inputs, and outputs that are in none.
  bool is_given_memory(const Operation&) const;
  // Memory of the class.
  bool is_own_memory(const Operation&) const;
  // Whether it is stored where a gathering begins.
  bool is_made_in_place(const std::string& name) const { return in_place_.contains(name); }
  // The tensor in whose memory it lies.
  std::string home(const std::string& name) const;
  // Does it lie in an input that is a list of tensors?
  bool is_scattered(const std::string& name) const;
  // For what can only do with one tensor.
  void require_together(const std::string& name, const std::string& reader) const;
  std::string pointer(const std::string& name) const { return "at_" + home(name); }
  // The address of a rank's first element of a tensor: a slice without memory of its own begins within
  // another tensor. The number and indices of its elements are part() of the name itself, never of the tensor
  // behind it.
  std::string first_of(const std::string& name) const;
  // Where the elements of a slice begin in the memory of a whole tensor.
  std::string begun_at(const std::string& whole, const std::string& slice) const;

  // Of a communication: the layout that cuts its tensor into blocks; do they not lie together; what is moved;
  // the memory where they do, beside; what the elements are cut into.
  const TensorLayout& slicing(const Operation&) const;
  bool is_packed(const Operation&) const;
  const TensorType& moved(const Operation& op) const { return operation(workload_, op.operands[0]).type; }
  static std::string packed(const std::string& name);
  std::string blocks_of(const Operation&) const;
  int scope_ranks(const TensorType& type) const { return ranks_of(workload_, type); }
  int peers(const Operation& op) const { return ranks_in(workload_, scope_of(workload_, op)); }

 private:
  MaybeError take(const NeededCollective&, const std::vector<WorkloadAlgorithm>&);

  const Workload& workload_;
  const std::string name_;
  const Execution execution_;
  const Stages stages_;
  std::map<std::string, const WorkloadAlgorithm*> algorithm_ = {};
  std::map<std::string, ExchangeRows> rows_ = {};
  std::map<std::string, std::string> in_place_ = {};  // what is made where a gathering begins: which
  mutable MaybeError error_ = {};
};

std::string printed_constant(const Operation&);  // RANK, GROUP, WORLD, a size

}  // namespace chorale
