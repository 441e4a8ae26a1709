// The epilogue of a program in a run that checks itself: its tensors hold test numbers
// (runtime/device/test_tensors.h), its function is applied to them by executors of this process, and another
// implementation, which shares only the data type, checks the results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/data_operation.h"
#include "ir/epilogue.h"
#include "runtime/device/stack_function.h"
#include "runtime/elements.h"

namespace chorale {

class EpilogueRun {
 public:
  // Of a program of any form, on blocks that are cut so; with tensors of one rank only, or of all (-1).
  template <typename Program>
  EpilogueRun(const Program& program, const Pieces& pieces, Rank only = -1) : epilogue_(program.epilogue) {
    for (const auto& rank : program.ranks) {
      whole_ = std::max(whole_, pieces.slot_begin(rank.input_chunks));
      ranks_.push_back({pieces.slot_begin(rank.slice), pieces.slot_begin(rank.output_chunks)});
    }
    fill(only);
  }
  EpilogueRun(const EpilogueRun&) = delete;
  EpilogueRun& operator=(const EpilogueRun&) = delete;

  // Both as long as this lives; none where the program has no expression.
  EpilogueFunction function() const;
  EpilogueFunction reference() const;

  // For kernels.
  StackFunction stack_function() const {
    return {expression().data(), static_cast<int>(expression().size()), operands_.data()};
  }
  const Expression& expression() const { return epilogue_.expression; }
  const std::vector<OperandRow>& operands() const { return operands_; }
  const std::vector<const void*>& tensors() const { return addresses_; }           // by rank, then operand
  const std::vector<std::vector<char>>& tensor_bytes() const { return tensors_; }  // likewise

 private:
  struct RankPart {
    std::int64_t slice = 0;    // the index of its first output
    std::int64_t outputs = 0;  // elements
  };
  void fill(Rank only);

  const Epilogue epilogue_;
  std::int64_t whole_ = 0;  // elements of the longest input
  std::vector<RankPart> ranks_ = {};
  std::vector<OperandRow> operands_ = {};
  std::vector<std::vector<char>> tensors_ = {};
  std::vector<const void*> addresses_ = {};
};

}  // namespace chorale
