// What one rank does on blocks of one size: the program with addresses instead of slots, driven by messages
// (runtime/exchange/message_plan.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/collective.h"
#include "ir/program.h"
#include "ir/step_rows.h"
#include "ir/verified.h"
#include "runtime/elements.h"
#include "runtime/epilogue.h"
#include "runtime/exchange/message_plan.h"
#include "runtime/exchange/transport.h"

namespace chorale {

// The input and the output of a rank, apart or in one memory.
struct RankBuffers {
  std::vector<std::byte> memory = {}, rest = {};  // in place `rest` is empty
  std::span<std::byte> input = {}, output = {};   // in them
};

RankBuffers buffers_apart(std::int64_t input_bytes, std::int64_t output_bytes);

// They share memory in which they begin at these bytes. A rank that has only one of them has just that.
RankBuffers buffers_in_place(std::int64_t input_begin, std::int64_t input_bytes, std::int64_t output_begin,
                             std::int64_t output_bytes);

// Of a rank of a collective whose blocks have as many bytes. In place, where the input of rank n begins
// n * `shift` blocks after its output (in_place_shift, ir/collective_kind.h); no shift: apart.
RankBuffers buffers_of(const Collective&, Rank, std::int64_t block_bytes, std::optional<int> shift);

// Of a rank, for blocks of those lengths; the rows are those of the program. What shares memory is one place,
// in place and apart.
MessagePlan message_plan(const Program&, const StepRows&, Rank, const Pieces&, int element_bytes);

class RankPlan {
 public:
  // The rows are those of the program. No check: the plan runs as it was made.
  RankPlan(const Verified<Program>&, const StepRows&, Rank, const BlockShape&, const PlanCheck& = {});
  RankPlan(const RankPlan&) = delete;  // tasks point into the buffers
  RankPlan& operator=(const RankPlan&) = delete;

  // The caller's; in place they share memory.
  std::span<std::byte> input() const { return buffers_.input; }
  std::span<std::byte> output() const { return buffers_.output; }
  bool in_place() const { return in_place_; }

  // Runs the program once; every rank must. Its epilogue is computed over the tensors of runtime/epilogue.h,
  // averages divided before it. Throws Hang.
  void execute(ReduceOp, Transport&);

  const EpilogueRun& epilogue() const { return epilogue_; }

 private:
  struct Sum {
    std::byte* to = nullptr;
    std::vector<const std::byte*> from = {};
    std::int64_t elements = 0;
    std::int64_t index = -1;  // of the first element, where the function is applied; else -1
  };
  struct Task {
    bool sends = false;
    Delivery message = {};  // of no bytes: a sum
    Sum sum = {};
  };

  std::byte* address(const Span&);
  Task task(const MessageTask&, const StepRows&);
  void make(const Sum&, ReduceOp, const EpilogueFunction&) const;

  ElementType type_ = ElementType::Float32;       // of the buffers
  ElementType kept_type_ = ElementType::Float32;  // of what is sent, added and kept between operations, if
  Wire wire_ = Wire::Float32;                     // it is not this
  std::int64_t length_ = 0;                       // of a block
  std::int64_t unit_bytes_ = 4;                   // of what is kept
  Rank rank_ = 0;
  EpilogueRun epilogue_;
  bool in_place_ = false;
  bool adds_once_ = false;
  bool reduces_ = false;       // does any rank? Then outputs are sums
  bool has_epilogue_ = false;  // likewise
  int ranks_ = 1;
  RankBuffers buffers_ = {};
  std::optional<RankBuffers> kept_ = {};  // of what is kept where that is something else
  std::vector<std::byte> scratch_ = {};
  std::vector<Task> tasks_ = {};
  std::optional<MessageDriver> driver_ = {};
};

}  // namespace chorale
