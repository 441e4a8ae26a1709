// The stages of a workload, one after the other, as it is printed: loops over elements, communications that a
// loop may follow (each sum as it becomes complete), and calls. Kernels of the workload become as few stages
// as they can; what cannot be one is several, which give the same results.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensor/language/workload.h"

namespace chorale {

// Rows: a kernel that goes over the last dimension of its tensors row by row. Those of a sum over ranks are a
// Communication whose loop `goes_by_rows`.
enum class StageKind { Loop, Rows, Communication, Call, Slice };

struct Stage {
  StageKind kind = StageKind::Loop;
  int operation = -1;  // of a communication, call or slice: its index in the list
  std::vector<int> loop =
      {};  // operations of one space, in their order: of a loop, or after a communication;
           // or of rows, and of what rows have one value of
  // AllReduces of scalars, `operation` and others, that are one message; empty: one alone.
  std::vector<int> scalars = {};
  std::string kernel = {}, overlap = {};
  bool goes_by_rows = false;
};

// Those from one position to another.
inline std::vector<Stage> stages_between(const std::vector<Stage>& all, std::size_t from, std::size_t to) {
  return {all.begin() + static_cast<std::ptrdiff_t>(from), all.begin() + static_cast<std::ptrdiff_t>(to)};
}

// Have both the same iteration space, which is all that a rank has of a type's shape and layout.
bool same_space(const TensorType&, const TensorType&);
// Of an operation of a loop: its result's, and of a ReduceTensor its operand's.
const TensorType& space_of(const Workload&, const Operation&);
// Among the operations of Rows: has its result a value for each row, and not for each element?
bool is_value_of_row(const Workload&, int operation, const std::vector<int>& rows);

class Stages {
 public:
  explicit Stages(const Workload&);

  const std::vector<Stage>& all() const { return stages_; }
  int stage_of(const std::string& name) const { return stage_of_.at(name); }  // -1: of inputs and constants
  // Whether its result has memory. A result that only its own loop reads has none, nor has a slice, or a
  // Reshape, that is read in its tensor's memory.
  bool is_stored(const std::string& name) const { return stored_.at(name); }
  // The tensor that a name means: a slice that has no memory is its operand.
  std::string behind(const std::string& name) const;
  // An AllGather or Broadcast whose operand is made in the last stage before, for it alone, and so may be put
  // where the gathering begins; empty: none.
  std::string made_in_place(const std::string& name) const;

 private:
  void add_kernel(const std::vector<int>& operations);
  bool add_fused(const std::vector<int>& operations);
  void add_rows(const std::vector<int>& operations);
  bool is_for(int sum, const std::vector<int>& rows) const;
  void add_scalars(const std::vector<int>& operations);
  void add_one(int operation);
  void add_to_loop(int operation, const std::string& kernel);
  bool may_be_view(int slice) const;
  bool may_be_other_shape(int reshape) const;
  bool depends(int operation, const std::vector<int>& on) const;
  int place_of(const std::string& name) const;  // in the list
  std::vector<int> readers(const std::string& name) const;

  const Workload& workload_;
  std::vector<Stage> stages_ = {};
  std::map<std::string, int> stage_of_ = {};
  std::map<std::string, bool> stored_ = {};
};

}  // namespace chorale
